import ChatCore

/// A request to delete local copies of files whose messages stay (`chatfs storage free`).
public struct FreeRequest: ControlRequest {
    /// The files whose copies were deleted.
    public typealias Answer = [Int64]

    /// File numbers, at most `maxFiles`.
    public var files: [Int64]
    /// True to delete files too that no relay has.
    public var lastCopies: Bool

    public var method: ControlMethod { .freeFiles }

    /// Maximum number of files, so that the reply is quick and fits into a line.
    public static let maxFiles = 200

    public init(_ files: [FileID], lastCopies: Bool) {
        self.files = files.map(\.rawValue)
        self.lastCopies = lastCopies
    }

    /// Returns the request without some files.
    public func sparing(_ stays: (FileID) -> Bool) -> FreeRequest {
        FreeRequest(files.map { FileID($0) }.filter { !stays($0) }, lastCopies: lastCopies)
    }
}
