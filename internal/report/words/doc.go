// Package words holds every word of the views in each of their languages.
//
// In: the English text of a view. Out: the same in Chinese, as far as it is in the
// dictionary. page.json are the words of the page by key; the other files are
// sentences of the console views, with places for numbers and names. It must never change what
// came from outside (addresses, models, messages), drop a part of a text that it does
// not know, or compute: a text that is not in the dictionary stays English.
package words
