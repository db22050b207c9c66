// SPDX-License-Identifier: Apache-2.0

package faultproxy

// Proxy forwards TCP connections and counts their bytes, until it is cut: then it forwards nothing any more, on open
// connections and new ones, without a sign to either side, as when a network drops packets.
type Proxy struct{ wire *Wire }

// NewProxy listens on loopback and forwards to a HOST:PORT.
func NewProxy(target string) (*Proxy, error) {
	wire, err := NewWire()
	if err != nil {
		return nil, err
	}
	go wire.Forward(func() string { return target })
	return &Proxy{wire}, nil
}

// Addr is its address.
func (p *Proxy) Addr() string { return p.wire.Addr().String() }

// Bytes is how many bytes it has forwarded so far, both ways, as they are on the wire.
func (p *Proxy) Bytes() int64 { return p.wire.bytes.Load() }

// Cut stops all forwarding.
func (p *Proxy) Cut() { p.wire.Hold() }

// Close closes everything.
func (p *Proxy) Close() { _ = p.wire.Close() }
