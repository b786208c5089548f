import ChatCore
import Glibc
import Namespace

/// Implements getxattr(2), setxattr(2) and removexattr(2): the rules common to all attributes, which
/// `ExtendedAttribute.all` defines. Attributes are readable by name and never listed, so that `cp -a` does not carry
/// them to another chat or disk. Stateless; thread-safe.
struct ExtendedAttributes: Sendable {
    let nodes: NodeLookup
    let entries: EntryReporter
    let drafts: DraftChanges
    let resender: MessageResender
    let profile: Profile
    let types: ContentTypes

    /// Returns the value. Waits for the bytes of a local picture whose type is not known yet, for nothing else.
    func answer(_ name: String, at id: NodeID) -> Answer<[UInt8]> {
        if name == "user.mime_type", let node = nodes.node(id), let look = types.look(at: node) {
            return .later { [self] in
                await look()
                return value(of: name, at: id)
            }
        }
        return .now(value(of: name, at: id))
    }

    func value(of name: String, at id: NodeID) -> Result<[UInt8], FileSystemError> {
        guard let node = nodes.node(id) else { return .failure(.gone) }
        // The kernel requests file capabilities before every write: answer early.
        if name == "security.capability" { return .failure(.noAttribute) }
        guard name.hasPrefix("user.") else { return .failure(.notSupported) }
        guard let value = ExtendedAttribute.named(name)?.value(entry(node)) else {
            return .failure(.noAttribute)
        }
        return .success(Array(value.utf8))
    }

    // XATTR_CREATE and XATTR_REPLACE of linux/xattr.h.
    private static let creates: Int32 = 1
    private static let replaces: Int32 = 2

    /// Sets an attribute. `flags` are those of setxattr(2).
    func set(_ name: String, to value: [UInt8], at id: NodeID, flags: Int32) -> Answer<Void> {
        guard let node = nodes.node(id) else { return .refused(.gone) }
        guard name.hasPrefix("user.") else { return .refused(.notSupported) }
        let (attribute, entry) = (ExtendedAttribute.named(name), entry(node))
        let isThere = attribute?.value(entry) != nil
        if isThere && flags & Self.creates != 0 { return .refused(FileSystemError(EEXIST)) }
        if !isThere && flags & Self.replaces != 0 { return .refused(.noAttribute) }
        guard entry.isOwn else { return .refused(.notPermitted) }
        return attribute?.set?(entry, value) ?? .done(())
    }

    /// Returns the error for a removal: no attribute is removable.
    func remove(_ name: String, at id: NodeID) -> FileSystemError {
        guard let node = nodes.node(id) else { return .gone }
        guard name.hasPrefix("user.") else { return .notSupported }
        if case .draft = node.content { return .noAttribute }
        return .notPermitted
    }

    /// Returns the attributes that the entry has.
    func all(of node: Node) -> [String: String] {
        let entry = entry(node)
        return ExtendedAttribute.all.reduce(into: [:]) { $0[$1.name] = $1.value(entry) }
    }

    private func entry(_ node: Node) -> AttributedEntry { AttributedEntry(node: node, attributes: self) }
}
