//! (map of the room)
