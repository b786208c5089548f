import FileSystem
import Glibc
import Namespace

extension Operations {
    /// - Parameter size: Size of the caller's buffer in bytes; 0 requests the value's size.
    static func getxattr(_ request: consuming Request, _ node: NodeID, _ name: String, _ size: Int) {
        let files = request.context.fileSystem
        request.answer(files.extendedAttribute(name, of: node)) { request, value in
            switch value.count {
            case _ where size == 0: request.attributeSize(value.count)
            case let count where count > size: request.fail(ERANGE)
            default: request.bytes(value)
            }
        }
    }

    /// Lists no attributes.
    static func listxattr(_ request: consuming Request, _ size: Int) {
        if size == 0 { request.attributeSize(0) } else { request.bytes([]) }
    }

    static func setxattr(
        _ request: consuming Request, _ node: NodeID, _ name: String, _ value: [UInt8], _ flags: Int32
    ) {
        let files = request.context.fileSystem
        request.answer(files.setExtendedAttribute(name, value, of: node, flags: flags))
    }

    static func removexattr(_ request: consuming Request, _ node: NodeID, _ name: String) {
        let files = request.context.fileSystem
        request.answer(files.removeExtendedAttribute(name, of: node))
    }
}
