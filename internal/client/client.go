package client

// Contract (signatures are fixed; the implementation is in this package's files):
//
//	type Config struct {
//		Clock       *clock.Clock
//		Dial        func(ctx context.Context, network, addr string) (net.Conn, error) // nil: net.Dialer; tests hand in memnet
//		MaxIdle     int           // idle connections kept per host: the concurrency
//		IdleTimeout time.Duration // 4 s by default
//		Connect     time.Duration // limit of dial and TLS together; 0: none
//		Insecure    bool
//		RootCAs     *x509.CertPool
//	}
//	func New(Config) *Client
//	func (*Client) Do(ctx, *Request, *Trace) (*Response, error)
//	func (*Client) Get(ctx, url string, header http.Header, limit int64) (status int, body []byte, header http.Header, err error) // preflight and scrapes
//	func (*Client) Close()
