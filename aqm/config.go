package aqm

import "errors"

// ErrConfig is wrapped by every error about a configuration. The error itself
// lists all that is wrong, one line for each field, with the value, the bound and
// the unit.
var ErrConfig = errors.New("invalid configuration")
