//! Compiles the network against ns-3.
use std::process::Command;

const MODULES: [&str; 4] = [
    "ns3-internet",
    "ns3-point-to-point",
    "ns3-traffic-control",
    "ns3-network",
];

fn main() {
    println!("cargo::rerun-if-changed=src/network.cc");
    println!("cargo::rerun-if-changed=src/network.h");
    let found = Command::new("pkg-config")
        .arg("--libs")
        .args(MODULES)
        .output();
    let flags = match found {
        Ok(found) if found.status.success() => String::from_utf8_lossy(&found.stdout).into_owned(),
        _ => {
            println!("cargo::error=ns-3 is missing; run: scripts/packages wire");
            return;
        }
    };
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(2)
        .file("src/network.cc")
        .compile("network");
    for library in flags
        .split_whitespace()
        .filter_map(|flag| flag.strip_prefix("-l"))
    {
        println!("cargo::rustc-link-lib=dylib={library}");
    }
}
