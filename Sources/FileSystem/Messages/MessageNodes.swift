import ChatCore
import Namespace

/// The numbers and names of the files of `.chatfs/messages`. They follow from the folders of the chats, so nothing
/// remembers them.
enum MessageNodes {
    /// In front of the number of the chat's folder; thumbnails have another one (`ThumbnailNodes`).
    private static let mark: UInt64 = 1 << 61
    private static let otherMark: UInt64 = 1 << 62
    private static let ending = Array(".jsonl".utf8)

    static func id(ofFolder folder: NodeID) -> NodeID { NodeID(mark | folder.rawValue) }

    /// The folder of the chat; nil for numbers of others.
    static func folder(of id: NodeID) -> NodeID? {
        guard id.rawValue & (mark | otherMark) == mark else { return nil }
        return NodeID(id.rawValue & ~mark)
    }

    /// Nil for numbers of others, and while there is no such chat.
    static func node(_ id: NodeID, in names: Namespace) -> Node? {
        guard let folder = folder(of: id).flatMap({ names.node($0) }), case .chat(let chat) = folder.content
        else { return nil }
        return node(of: chat.reference, folder)
    }

    static func node(of chat: ChatReference, _ folder: Node) -> Node {
        Node(id: id(ofFolder: folder.id), folder: .messages, name: name(folder), content: .messageLog(chat))
    }

    /// That of the folder, or its number where that would be too long.
    private static func name(_ folder: Node) -> EntryName {
        let name = EntryName(folder.name.bytes + ending)
        return name.bytes.count <= EntryName.maxLength ? name : EntryName("\(folder.id.rawValue).jsonl")
    }

    /// The folder of the chat whose file has a name.
    static func folder(named name: EntryName, in names: Namespace) -> Node? {
        guard name.bytes.count > ending.count, name.bytes.suffix(ending.count).elementsEqual(ending) else {
            return nil
        }
        let stem = EntryName(Array(name.bytes.dropLast(ending.count)))
        let numbered = { UInt64(stem.description).flatMap { names.node(NodeID($0)) } }
        guard let folder = names.child(stem, of: .root) ?? numbered(), self.name(folder) == name else {
            return nil
        }
        return folder
    }
}
