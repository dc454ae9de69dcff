"""Small trainers that ship with bhpt: to try it, and to copy from."""
