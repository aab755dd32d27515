package main

// dues is a heap of connections by when their next event is due.
type dues []*conn

func (d *dues) add(c *conn) {
	*d = append(*d, c)
	i := len(*d) - 1
	for up := (i - 1) / 2; i > 0 && (*d)[i].due < (*d)[up].due; i, up = up, (up-1)/2 {
		(*d)[i], (*d)[up] = (*d)[up], (*d)[i]
	}
}

// down puts entry i where it belongs after its due time grew.
func (d dues) down(i int) {
	for {
		least := i
		for _, k := range []int{2*i + 1, 2*i + 2} {
			if k < len(d) && d[k].due < d[least].due {
				least = k
			}
		}
		if least == i {
			return
		}
		d[i], d[least] = d[least], d[i]
		i = least
	}
}

// remove takes a connection out, if it is there. It is the first one but when a client
// went away.
func (d *dues) remove(c *conn) {
	for i := range *d {
		if (*d)[i] != c {
			continue
		}
		n := len(*d) - 1
		(*d)[i] = (*d)[n]
		(*d)[n] = nil
		*d = (*d)[:n]
		if i < n {
			moved := (*d)[i]
			d.down(i)
			for up := (i - 1) / 2; i > 0 && (*d)[i] == moved && moved.due < (*d)[up].due; i, up = up, (up-1)/2 {
				(*d)[i], (*d)[up] = (*d)[up], moved
			}
		}
		return
	}
}
