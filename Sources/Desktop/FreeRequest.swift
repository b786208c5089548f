import ChatCore

/// A request to delete local copies of files whose messages stay (`chatfs storage free`): one line of JSON to the
/// daemon.
public struct FreeRequest: Codable, Hashable, Sendable {
    /// File numbers, at most `maxFiles`.
    public var free: [Int64]
    /// True to delete files too that no relay has.
    public var lastCopies: Bool

    /// Maximum number of files, so that the reply is quick and fits into a line.
    public static let maxFiles = 200

    public init(_ files: [FileID], lastCopies: Bool) {
        free = files.map(\.rawValue)
        self.lastCopies = lastCopies
    }

    /// Returns the request without some files.
    public func sparing(_ stays: (FileID) -> Bool) -> FreeRequest {
        FreeRequest(free.map { FileID($0) }.filter { !stays($0) }, lastCopies: lastCopies)
    }
}

/// The reply: one line of JSON.
public struct FreeAnswer: ControlAnswer, Codable, Hashable, Sendable {
    /// Files whose copies were deleted.
    public var freed: [Int64]
    /// A sentence that tells why the other files were not examined.
    public var problem: String?

    public init(freed: [Int64], problem: String? = nil) {
        self.freed = freed
        self.problem = problem
    }
}
