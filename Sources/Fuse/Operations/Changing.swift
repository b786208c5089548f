import CFuse3
import FileSystem
import Glibc
import Namespace

extension Operations {
    /// - Parameter fields: which of `status` are to be set, FUSE_SET_ATTR_….
    static func setattr(_ request: consuming Request, _ node: NodeID, _ status: stat, _ fields: Int32) {
        let context = request.context
        let change = AttributeChange(status, fields: fields, owner: context.owner)
        request.answer(context.fileSystem.change(node, change)) { request, attributes in
            request.attributes(attributes.status(of: context.owner), timeout: attributes.keepFor)
        }
    }

    static func rename(
        _ request: consuming Request, _ old: (name: EntryName, folder: NodeID),
        to new: (name: EntryName, folder: NodeID), _ flags: UInt32
    ) {
        let files = request.context.fileSystem
        request.answer(files.rename(old.name, in: old.folder, to: new.name, in: new.folder, flags: flags))
    }

    static func unlink(_ request: consuming Request, _ name: EntryName, in folder: NodeID) {
        request.answer(request.context.fileSystem.unlink(name, in: folder))
    }
}
