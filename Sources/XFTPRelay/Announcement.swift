/// The chunks that one address created (FNEW) and has not uploaded yet (FPUT). It expires an hour after the last FNEW
/// or FPUT. A client that first creates all records of a large file thus has enough time on a slow line, and unused
/// records do not stay.
struct Announcement: Sendable {
    /// In seconds.
    static let timeout: Int64 = 3600

    let id: Int64
    /// The expiry time in seconds since 1970.
    let due: Int64

    init(id: Int64, now: Int64) {
        self.id = id
        due = now + Self.timeout
    }
}
