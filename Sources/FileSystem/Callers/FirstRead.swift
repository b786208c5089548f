/// What the reads of one opening show of its purpose, where open(2) did not. A value without input and output.
///
/// * unread → detecting: the first read is at the beginning and short;
/// * unread → reading: any other first read (further on, longer, or as mmap(2) has it made);
/// * detecting → detecting: the same read again, as the kernel repeats one that failed;
/// * detecting → reading: any other.
struct FirstRead: Sendable {
    enum Purpose: Hashable, Sendable { case unread, detecting, reading }

    enum Action: Hashable, Sendable {
        /// It reads for the first time.
        case begin
        case serve
        /// It gets what is here, and nothing is fetched.
        case onlyWhatIsHere
    }

    private(set) var purpose: Purpose
    /// Longest first read, in bytes, that only finds out the type. 0: there is none.
    private let limit: Int

    /// The length of the first read has to be that which the program asked for: the kernel asks for single pages where
    /// it has some that could not be read.
    var dependsOnLength: Bool { limit > 0 }

    /// - Parameter isDetection: it is known that it finds out the type, unless it reads on.
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
