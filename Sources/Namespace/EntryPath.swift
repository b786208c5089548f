/// A path below the mountpoint.
public struct EntryPath: Hashable, Sendable {
    /// Components from the outermost folder on.
    public let names: [EntryName]

    init(_ names: [EntryName]) { self.names = names }

    /// Components joined by slashes, without a leading one.
    public var bytes: [UInt8] { Array(names.map(\.bytes).joined(separator: [UInt8(ascii: "/")])) }
}

/// Paths that a change removes.
final class RemovedPaths {
    private(set) var paths: [EntryPath] = []

    func add(_ name: EntryName, in folder: [EntryName]) { paths.append(EntryPath(folder + [name])) }
}
