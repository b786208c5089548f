import JSON

/// A file offered by a message (`file` of x.msg.new).
public struct FileInvitation: Hashable, Sendable {
    /// Transport of the file.
    public enum Way: Hashable, Sendable {
        /// From XFTP relays. The description follows, or its first part is included.
        case described(DescriptionPart)
        /// In messages, after acceptance.
        case offeredInline
        /// In messages, without a request.
        case sentInline
        /// Over its own connection as in 2022, or unknown.
        case unsupported
    }

    /// Name given by the sender; not sanitised.
    public var name: String
    /// Plaintext size in bytes.
    public var size: UInt64
    public var way: Way

    public init(name: String, size: UInt64, way: Way = .described(.awaited)) {
        self.name = name
        self.size = size
        self.way = way
    }

    init?(_ json: JSONValue) {
        guard let name = json["fileName"]?.name, let size = json["fileSize"]?.size else { return nil }
        self.name = name
        self.size = size
        if let part = json["fileDescr"] {
            guard let part = DescriptionPart(part) else { return nil }
            way = .described(part)
        } else if json["fileConnReq"] != nil {
            way = .unsupported
        } else {
            switch json["fileInline"]?.string {
            case "offer": way = .offeredInline
            case "sent": way = .sentInline
            default: way = .unsupported
            }
        }
    }

    var json: String {
        var part: String?
        var inline: String?
        switch way {
        case .described(let description): part = description.json
        case .offeredInline: inline = JSONText.string("offer")
        case .sentInline: inline = JSONText.string("sent")
        case .unsupported: break
        }
        return JSONText.object(present: [
            "fileName": JSONText.string(name), "fileSize": String(size), "fileInline": inline,
            "fileDescr": part,
        ])
    }
}

/// A part of a file description (`fileDescr`). Secret, as it contains keys.
public struct DescriptionPart: Hashable, Sendable {
    public var text: String
    /// From 1; 0 without any description yet.
    public var number: Int
    /// Whether it is the last one.
    public var isLast: Bool

    public init(text: String, number: Int, isLast: Bool) {
        self.text = text
        self.number = number
        self.isLast = isLast
    }

    /// Announces a later description.
    public static let awaited = DescriptionPart(text: "", number: 0, isLast: false)

    /// Splits a description into parts that fit into messages.
    /// - Parameter limit: characters per part, `ProtocolLimits.shortDescriptionPart`.
    public static func parts(of description: String, limit: Int) -> [DescriptionPart] {
        let bytes = Array(description.utf8)
        let starts = Array(stride(from: 0, to: max(1, bytes.count), by: limit))
        return starts.enumerated().map { place, start in
            DescriptionPart(
                // A description is ASCII, so no character is split.
                text: String(decoding: bytes[start..<min(start + limit, bytes.count)], as: UTF8.self),
                number: place + 1, isLast: place == starts.count - 1)
        }
    }

    init?(_ json: JSONValue) {
        guard let text = json["fileDescrText"]?.string, let number = json["fileDescrPartNo"]?.integer,
            (0...Int64(ProtocolLimits.descriptionParts)).contains(number)
        else { return nil }
        self.init(text: text, number: Int(number), isLast: json["fileDescrComplete"]?.bool ?? false)
    }

    var json: String {
        JSONText.object([
            "fileDescrText": JSONText.string(text), "fileDescrPartNo": String(number),
            "fileDescrComplete": JSONText.bool(isLast),
        ])
    }
}
