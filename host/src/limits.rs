//! Every number of the host that an operator does not set: name with unit, value, why.
