/// A path below the mountpoint.
public struct EntryPath: Hashable, Sendable {
    /// From the outermost folder on.
    public let names: [EntryName]

    init(_ names: [EntryName]) { self.names = names }

    /// With slashes between the names and none in front.
    public var bytes: [UInt8] { Array(names.map(\.bytes).joined(separator: [UInt8(ascii: "/")])) }
}

/// Is told of all changes of names, in their order, by the thread that makes them, after it has made them. It must be
/// quick, wait for nothing, and not change names itself.
public struct NameObserver: Sendable {
    /// Nothing has these names any more.
    var gone: @Sendable (_ paths: [EntryPath]) -> Void
    /// These are new on show, or others than before.
    var shown: @Sendable (_ nodes: [Node]) -> Void

    public init(
        gone: @escaping @Sendable (_ paths: [EntryPath]) -> Void,
        shown: @escaping @Sendable (_ nodes: [Node]) -> Void
    ) {
        self.gone = gone
        self.shown = shown
    }

    func tell(gone paths: [EntryPath], shown nodes: [Node]) {
        if !paths.isEmpty { gone(paths) }
        if !nodes.isEmpty { shown(nodes) }
    }
}

/// What one change takes away.
final class GonePaths {
    private(set) var paths: [EntryPath] = []

    func add(_ name: EntryName, in folder: [EntryName]) { paths.append(EntryPath(folder + [name])) }
}
