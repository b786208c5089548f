/// Infers the purpose of an opening from its reads if the open flags did not tell. A pure value.
///
/// * unread → detecting: the first read starts at offset 0 and is short
/// * unread → reading: any other first read (at a later offset, longer, or by mmap(2))
/// * detecting → detecting: the same read again, because the kernel repeats a failed read
/// * detecting → reading: any other read
struct FirstRead: Sendable {
    enum Purpose: Hashable, Sendable { case unread, detecting, reading }

    enum Action: Hashable, Sendable {
        /// The first read that wants the bytes.
        case begin
        case serve
        /// Reply with local bytes and fetch nothing.
        case onlyWhatIsHere
    }

    private(set) var purpose: Purpose
    /// Maximum length in bytes of a first read that only detects the type; 0 disables detection.
    private let limit: Int

    /// True if the read length must be the program's own. The kernel requests single pages after a failed read of
    /// several.
    var dependsOnLength: Bool { limit > 0 }

    /// - Parameters:
    ///   - limit: Maximum length in bytes of a detecting first read; 0 disables detection.
    ///   - isDetection: True if the opening is known to detect the type until a later read shows otherwise.
    init(limit: Int, isDetection: Bool = false) {
        self.limit = limit
        purpose = isDetection ? .detecting : .unread
    }

    mutating func read(at offset: UInt64, count: Int) -> Action {
        switch purpose {
        case .reading: return .serve
        case .unread, .detecting:
            let isShort = offset == 0 && count <= limit
            purpose = isShort ? .detecting : .reading
            return isShort ? .onlyWhatIsHere : .begin
        }
    }
}
