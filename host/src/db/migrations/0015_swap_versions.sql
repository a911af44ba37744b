-- Version of the component that a swap published. NULL in lines of older hosts.
ALTER TABLE swaps ADD COLUMN version TEXT;
