/// Is told of all changes of names, in their order, by the thread that makes them, after it has made them. It must be
/// quick, wait for nothing, and not change names itself.
public struct NameObserver: Sendable {
    /// Nothing has these names any more.
    var gone: @Sendable (_ paths: [EntryPath]) -> Void
    /// These are on show from now on, under these names.
    var new: @Sendable (_ nodes: [Node]) -> Void
    /// These are others than before, under the same names.
    var changed: @Sendable (_ nodes: [Node]) -> Void

    public init(
        gone: @escaping @Sendable (_ paths: [EntryPath]) -> Void,
        new: @escaping @Sendable (_ nodes: [Node]) -> Void,
        changed: @escaping @Sendable (_ nodes: [Node]) -> Void
    ) {
        self.gone = gone
        self.new = new
        self.changed = changed
    }

    func tell(gone paths: [EntryPath], new added: [Node], changed replaced: [Node]) {
        if !paths.isEmpty { gone(paths) }
        if !added.isEmpty { new(added) }
        if !replaced.isEmpty { changed(replaced) }
    }
}
