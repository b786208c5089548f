import ChatCore

/// Files whose copies are to go while their messages stay (`chatfs storage free`): one line of JSON to the daemon that
/// has the profile.
public struct FreeRequest: Codable, Hashable, Sendable {
    /// Numbers of files, at most `maxFiles`.
    public var free: [Int64]
    /// Those too that no relay has any more.
    public var lastCopies: Bool

    /// So that an answer comes in time and fits into a line.
    public static let maxFiles = 200

    public init(_ files: [FileID], lastCopies: Bool) {
        free = files.map(\.rawValue)
        self.lastCopies = lastCopies
    }

    /// Without the files that stay.
    public func sparing(_ stays: (FileID) -> Bool) -> FreeRequest {
        FreeRequest(free.map { FileID($0) }.filter { !stays($0) }, lastCopies: lastCopies)
    }
}

/// The answer: one line of JSON.
public struct FreeAnswer: Codable, Hashable, Sendable {
    /// Those that went.
    public var freed: [Int64]
    /// Why the others of the request were not looked at, a sentence.
    public var problem: String?

    public init(freed: [Int64], problem: String? = nil) {
        self.freed = freed
        self.problem = problem
    }
}
