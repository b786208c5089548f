/// A path below the mountpoint.
public struct EntryPath: Hashable, Sendable {
    /// From the outermost folder on.
    public let names: [EntryName]

    init(_ names: [EntryName]) { self.names = names }

    /// With slashes between the names and none in front.
    public var bytes: [UInt8] { Array(names.map(\.bytes).joined(separator: [UInt8(ascii: "/")])) }
}

/// What one change takes away.
final class GonePaths {
    private(set) var paths: [EntryPath] = []

    func add(_ name: EntryName, in folder: [EntryName]) { paths.append(EntryPath(folder + [name])) }
}
