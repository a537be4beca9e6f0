/* A network of ns-3 as crate `wire` sees it: connections that carry counted octets, and tokens. Hosts are
   0, 1, ...; switches follow. Ranks of one host reach each other through its memory, at once. A rank is woken by
   `wake` some time after something happened, and asks what. */
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct NetworkLink { uint32_t from, to; double bits_per_s, delay_s; };

/* ns-3.37's BBR is none: with pauses between messages even tokens took seconds without a loss. */
enum CongestionControl { CONTROL_CUBIC, CONTROL_DCTCP };

struct NetworkSetting {
  uint32_t hosts, ranks, switches, links;
  const uint32_t *host_of;            /* by rank */
  const struct NetworkLink *link;     /* directed; link 2k + 1 is the reverse of 2k */
  const uint32_t *route;              /* [switch][host]: the first of its links to it in `link_of`; one more */
  const uint32_t *link_of;            /* flows spread over several by a hash of addresses and ports */
  const uint16_t *port;               /* [from][to], ranks: the port from which the connection is opened */
  uint32_t queue;                     /* octets of a port */
  uint32_t shared_buffer;             /* octets of a switch; 0: each port has its own */
  double least_rto_ms;
  uint32_t control;                   /* enum CongestionControl */
  double step_cost_us;                /* from an event to the rank's next step */
  double copied_per_s;                /* octets that a rank copies between kernel and memory; 0: any number */
  void *context;
  void (*wake)(void *context, uint32_t rank);
};

enum NetworkEventKind { EVENT_BEGUN, EVENT_READABLE, EVENT_WRITABLE, EVENT_TOKEN, EVENT_IDLE };
struct NetworkEvent { uint32_t kind, peer, id; };
struct NetworkCounts { uint64_t drops, marks, timers, longest_queue; };

/* The port to which connections to the first rank are opened; those to the next ones follow. */
#define NETWORK_PORT 5000
/* By which a switch spreads flows. */
uint32_t network_hash(uint32_t at, uint32_t from, uint32_t to, uint16_t from_port, uint16_t to_port);

struct Network;
struct Network *network_new(const struct NetworkSetting *);
void network_free(struct Network *);
uint64_t network_now_ns(struct Network *);
/* Until network_stop, or for so long; gives whether it was stopped. */
int network_run(struct Network *, double seconds);
void network_stop(struct Network *);
/* An event of this kind happens to a rank after so long. */
void network_later(struct Network *, uint32_t rank, uint32_t kind, double us);
int network_event(struct Network *, uint32_t rank, struct NetworkEvent *);
uint32_t network_send(struct Network *, uint32_t from, uint32_t to, uint32_t octets);
uint32_t network_receive(struct Network *, uint32_t from, uint32_t to, uint32_t octets);
/* A rank computes for so long: what it sends meanwhile goes when it is through. */
void network_compute(struct Network *, uint32_t rank, double seconds);
/* When it is through. */
uint64_t network_free_at_ns(struct Network *, uint32_t rank);
/* Octets that were written and not acknowledged. */
uint32_t network_under_way(struct Network *, uint32_t from, uint32_t to);
/* EVENT_WRITABLE happens to the sender when so few are. */
void network_await_few(struct Network *, uint32_t from, uint32_t to, uint32_t octets);
/* EVENT_READABLE happens to the receiver when so many are there. */
void network_wake_at(struct Network *, uint32_t from, uint32_t to, uint32_t octets);
void network_give(struct Network *, uint32_t from, uint32_t to, uint32_t id);
struct NetworkCounts network_counts(struct Network *);

#ifdef __cplusplus
}
#endif
