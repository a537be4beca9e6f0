//! The caller of a profiling name: the MPI library itself, or somebody before it. Only the return
//! address tells them apart, and Rust does not give it: a few instructions take it before the call
//! goes on.

/// The body of a profiling name: asks `$decide` where a call from this return address goes, and
/// jumps there with all arguments in their places, as if the caller had called that itself.
macro_rules! by_caller {
    ($decide:path) => {
        #[cfg(target_arch = "x86_64")]
        core::arch::naked_asm!(
            // The six registers of arguments, and 8 bytes so that the stack is aligned for a call.
            "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "sub rsp, 8",
            "mov rdi, [rsp + 56]",
            "call {decide}",
            "add rsp, 8", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
            "jmp rax",
            decide = sym $decide,
        );
        #[cfg(target_arch = "aarch64")]
        core::arch::naked_asm!(
            "stp x29, x30, [sp, #-80]!", "mov x29, sp",
            "stp x0, x1, [sp, #16]", "stp x2, x3, [sp, #32]", "stp x4, x5, [sp, #48]",
            "stp x6, x7, [sp, #64]",
            "mov x0, x30",
            "bl {decide}",
            "mov x16, x0",
            "ldp x0, x1, [sp, #16]", "ldp x2, x3, [sp, #32]", "ldp x4, x5, [sp, #48]",
            "ldp x6, x7, [sp, #64]",
            "ldp x29, x30, [sp], #80",
            "br x16",
            decide = sym $decide,
        );
    };
}
pub(crate) use by_caller;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!(
    "the front hands arguments on as the calling conventions of x86-64 and AArch64 lay them out; \
     it knows no other"
);
