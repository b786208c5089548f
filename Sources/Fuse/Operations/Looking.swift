import FileSystem
import Namespace

extension Operations {
    static func lookup(_ request: consuming Request, _ name: EntryName, in folder: NodeID) {
        let context = request.context
        request.answer(context.fileSystem.lookup(name, in: folder)) { request, attributes in
            if !request.entry(attributes.entry(of: context.owner)) {
                context.fileSystem.forget(attributes.id, 1)
            }
        }
    }

    static func getattr(_ request: consuming Request, _ node: NodeID) {
        let context = request.context
        request.answer(context.fileSystem.attributes(node)) { request, attributes in
            request.attributes(attributes.status(of: context.owner), timeout: attributes.keepFor)
        }
    }

    /// Comes after everything else about the nodes, their releases too.
    static func forget(_ request: consuming Request, _ forgotten: [(node: NodeID, count: UInt64)]) {
        for one in forgotten { request.context.fileSystem.forget(one.node, one.count) }
        request.forgotten()
    }

    static func statfs(_ request: consuming Request) {
        switch request.context.fileSystem.statistics() {
        case .success(let statistics): request.statistics(statistics)
        case .failure(let error): request.fail(error)
        }
    }

    static func access(_ request: consuming Request, _ node: NodeID, _ mask: Int32) {
        let files = request.context.fileSystem
        request.answer(files.access(node, mask: mask))
    }
}
