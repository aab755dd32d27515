package client

import (
	"context"
	"net"
	"net/netip"
	"sync"
)

// Resolver decides which addresses a name stands for, for all clients that share
// it. Without one a client's dialer looks names up for each connection and takes
// the first address that answers.
type Resolver struct {
	// Lookup returns the addresses of a host name in order of preference; nil: the
	// system's.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Once keeps the first answer for a name for good.
	Once bool
	// Spread gives connections the addresses of a name in turn. Each connection
	// then has one address: when that one does not answer, the request fails and
	// says so, instead of hiding it behind another.
	Spread bool

	mu    sync.Mutex
	known map[string][]netip.Addr
	turn  map[string]int
}

// Resolve looks a name up, or remembers what it stood for. An address stands for
// itself.
func (r *Resolver) Resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	addrs, _, err := r.lookup(ctx, host)
	return addrs, err
}

// next is the addresses for one connection, the first to be tried first, and
// whether a look-up was made for it.
func (r *Resolver) next(ctx context.Context, host string) (addrs []netip.Addr, looked bool, err error) {
	if addrs, looked, err = r.lookup(ctx, host); err != nil || !r.Spread {
		return addrs, looked, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turn == nil {
		r.turn = map[string]int{}
	}
	i := r.turn[host] % len(addrs)
	r.turn[host] = i + 1
	return addrs[i : i+1], looked, nil
}

func (r *Resolver) lookup(ctx context.Context, host string) (addrs []netip.Addr, looked bool, err error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, false, nil
	}
	r.mu.Lock()
	addrs = r.known[host]
	r.mu.Unlock()
	if len(addrs) > 0 {
		return addrs, false, nil
	}
	find := r.Lookup
	if find == nil {
		find = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	addrs, err = find(ctx, host)
	if err != nil {
		return nil, true, err
	}
	if len(addrs) == 0 {
		return nil, true, &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	if r.Once {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.known == nil {
			r.known = map[string][]netip.Addr{}
		}
		if first := r.known[host]; first != nil { // another connection was faster
			return first, true, nil
		}
		r.known[host] = addrs
	}
	return addrs, true, nil
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
