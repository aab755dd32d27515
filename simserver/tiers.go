package simserver

import (
	"strconv"

	"tokentape/internal/sim"
)

// storageBackend is what SGLang calls its files.
const storageBackend = "HiCacheFile"

// tiered reports a hierarchical cache: SGLang splits cached tokens with one alone.
func (o *Options) tiered() bool { return o.HostPages > 0 || o.StoragePages > 0 }

// appendTiers is cached_tokens_details, with storage where there is some.
func (o *Options) appendTiers(b []byte, f sim.Facts) []byte {
	b = append(b, `{"device":`...)
	b = strconv.AppendInt(b, f.Tiers[sim.Device], 10)
	b = append(b, `,"host":`...)
	b = strconv.AppendInt(b, f.Tiers[sim.Host], 10)
	if o.StoragePages > 0 {
		b = append(b, `,"storage":`...)
		b = strconv.AppendInt(b, f.Tiers[sim.Storage], 10)
		b = append(b, `,"storage_backend":"`+storageBackend+`"`...)
	}
	return append(b, '}')
}
