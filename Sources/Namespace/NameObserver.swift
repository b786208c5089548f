/// Receives all changes of names, in order, on the thread that made them and after they are made. It must be quick,
/// must not wait and must not change names.
public struct NameObserver: Sendable {
    /// Removed paths.
    var gone: @Sendable (_ paths: [EntryPath]) -> Void
    /// Nodes that are new or have a new name.
    var new: @Sendable (_ nodes: [Node]) -> Void
    /// Nodes that changed under the same name.
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
