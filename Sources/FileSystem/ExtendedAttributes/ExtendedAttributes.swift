import Base
import ChatCore
import Glibc
import Namespace
import Outbox

// Read by name and never listed: what `cp -a` cannot see it cannot carry to another chat or disk.
extension FileSystem {
    /// The value of an extended attribute.
    public func extendedAttribute(_ name: String, of id: NodeID) -> Result<[UInt8], FileSystemError> {
        guard let node = node(id) else { return .failure(.gone) }
        // Asked before every single write (file capabilities): no such thing here, said quickly.
        if name == "security.capability" { return .failure(.noAttribute) }
        guard name.hasPrefix("user.") else { return .failure(.notSupported) }
        guard let value = value(ofAttribute: name, node) else { return .failure(.noAttribute) }
        return .success(Array(value.utf8))
    }

    private func value(ofAttribute name: String, _ node: Node) -> String? {
        switch name {
        case "user.mime_type": return node.isFolder ? nil : MediaType(fileName: node.name.description).name
        case "user.chatfs.state": return report(on: node)?.state.rawValue
        case "user.chatfs.progress": return report(on: node).map { "\($0.progress)" }
        case "user.chatfs.error": return report(on: node)?.problem
        default: break
        }
        switch node.content {
        case .item(let item): return value(ofAttribute: name, item)
        case .draft(let id):
            guard let condition = draft(id, at: node.id)?.snapshot else { return nil }
            switch name {
            case "user.chatfs.caption": return condition.caption.isEmpty ? nil : condition.caption
            case "user.chatfs.direction": return "sent"
            case "user.chatfs.sender": return core.profile.displayName
            default: return nil
            }
        case .chat(let chat):
            return name == "user.chatfs.error" ? chat.sendingRefused : nil
        case .root, .control, .status, .transfers, .recovered: return nil
        }
    }

    private func value(ofAttribute name: String, _ item: ChatItem) -> String? {
        switch name {
        case "user.chatfs.transport": item.file?.transport.rawValue
        case "user.chatfs.sender": item.sender
        case "user.chatfs.direction": item.direction == .sent ? "sent" : "received"
        case "user.chatfs.item-id": "\(item.id.rawValue)"
        case "user.chatfs.file-id": item.file.map { "\($0.id.rawValue)" }
        case "user.chatfs.expires": item.file?.expires.map { "\($0.seconds)" }
        case "user.chatfs.caption": item.content.text.isEmpty ? nil : item.content.text
        default: nil
        }
    }

    // XATTR_CREATE and XATTR_REPLACE of linux/xattr.h.
    private static let creates: Int32 = 1
    private static let replaces: Int32 = 2

    /// Sets the caption of a draft, or sends once more what was refused, is unsure or failed on its way, or
    /// what a killed program left. Any
    /// other `user.` attribute of what was copied in is accepted and dropped, so that copying tools do not
    /// complain. `flags` are those of setxattr(2): only what is there can be replaced, and only what is not can
    /// be created.
    public func setExtendedAttribute(
        _ name: String, _ value: [UInt8], of id: NodeID, flags: Int32 = 0
    ) -> Answer<Void> {
        guard let node = node(id) else { return .refused(.gone) }
        guard name.hasPrefix("user.") else { return .refused(.notSupported) }
        let isThere = self.value(ofAttribute: name, node) != nil
        if isThere && flags & Self.creates != 0 { return .refused(FileSystemError(EEXIST)) }
        if !isThere && flags & Self.replaces != 0 { return .refused(.noAttribute) }
        switch node.content {
        case .draft(let draft):
            guard ["user.chatfs.caption", "user.chatfs.retry"].contains(name) else { return .done(()) }
            guard let file = self.draft(draft, at: id) else { return .refused(.gone) }
            if name == "user.chatfs.retry" {
                return blocking {
                    guard try self.outbox.retry(file.id) else { throw FileSystemError.notPermitted }
                }
            }
            guard let text = String(validating: value, as: UTF8.self) else {
                return .refused(FileSystemError(EILSEQ))
            }
            guard file.state == .draft else { return .refused(.notPermitted) }
            return blocking { try file.setCaption(text) }
        case .item(let item) where item.direction == .sent && name == "user.chatfs.retry":
            guard case .sndError = item.file?.status else { return .refused(.notPermitted) }
            return .later { [self] in
                do {
                    return .success(try await sendAgain(item))
                } catch {
                    return .failure(FileSystemError(error))
                }
            }
        case .item(let item) where item.direction == .sent && name != "user.chatfs.caption":
            return .done(())
        case .root, .control, .status, .transfers, .recovered, .chat, .item:
            return .refused(.notPermitted)
        }
    }

    /// Nothing that can be removed is ever there.
    public func removeExtendedAttribute(_ name: String, of id: NodeID) -> FileSystemError {
        guard let node = node(id) else { return .gone }
        guard name.hasPrefix("user.") else { return .notSupported }
        if case .draft = node.content { return .noAttribute }
        return .notPermitted
    }
}
