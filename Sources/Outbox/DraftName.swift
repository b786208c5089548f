import ChatCore

/// Valid names of drafts.
enum DraftName {
    /// - Throws: `invalidName`, `nameTooLong`.
    static func requireValid(_ name: [UInt8]) throws(OutboxError) {
        guard name.count <= SafeFileName.maxLength else {
            throw OutboxError(.nameTooLong, "A file name can have at most \(SafeFileName.maxLength) bytes.")
        }
        guard !name.isEmpty, !name.contains(0), !name.contains(UInt8(ascii: "/")), name != Array(".".utf8),
            name != Array("..".utf8), String(validating: name, as: UTF8.self) != nil
        else { throw OutboxError(.invalidName, "A file name must be valid UTF-8.") }
    }
}
