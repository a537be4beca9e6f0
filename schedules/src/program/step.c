/* What a host does, phase by phase: it awaits tokens, sends blocks, receives blocks. A token that follows a block is given once
   that block has been sent, or received. Only sending waits: for its tokens, and for the blocks of this host's phases before. */
enum { END, PHASE, AWAIT, SEND, FILL, RECEIVE, DRAIN, GIVE, BARRIER };
typedef struct {
    unsigned char what;
    Number host, number;
} Step;
#define P(phase) {PHASE, 0, 0},                         /* a phase, from 0 */
#define W(from, number) {AWAIT, from, number},          /* a token, by the host that the waiting block goes to */
#define S(to) {SEND, to, 0},                            /* a block */
#define F(to) {FILL, to, 0},                            /* a filler: nobody needs it, but it takes as long as a block */
#define R(from) {RECEIVE, from, 0},                     /* a block */
#define D(from) {DRAIN, from, 0},                       /* a filler */
#define G(to, number) {GIVE, to, number},               /* a token */
#define B(times, received) {BARRIER, times, received},  /* once so many have been received, so many barriers */
