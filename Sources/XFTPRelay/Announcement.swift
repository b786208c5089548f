/// What one address announces (FNEW) before it brings the bytes (FPUT). It is waited for until nothing more
/// was announced or brought for an hour: a client that makes all records of a large file first has as long as
/// its line needs, and one that only makes records leaves nothing behind.
struct Announcement: Sendable {
    /// Seconds.
    static let timeout: Int64 = 3600

    let id: Int64
    /// Seconds since 1970.
    let due: Int64

    init(id: Int64, now: Int64) {
        self.id = id
        due = now + Self.timeout
    }
}
