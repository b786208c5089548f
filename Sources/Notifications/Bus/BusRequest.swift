import MessageBus

/// A request to the process on the bus, and its encoding.
enum BusRequest: Hashable, Sendable {
    case show(token: UInt64, NotificationText)
    case close(token: UInt64)
    case count(UInt64)
    /// The header of a picture for a later notification; its pixels follow.
    case picture(token: UInt64, width: UInt64, height: UInt64)
    /// Bytes of red, green and blue, row by row.
    case pixels(token: UInt64, [UInt8])
    /// Absolute paths to select in their folder; with `opens`, the single file to open in its program.
    case reveal([String], opens: Bool)

    var encoded: [UInt8] {
        switch self {
        case .show(let token, let text): [0] + BusFrame.bytes(token) + Self.bytes(of: text)
        case .close(let token): [1] + BusFrame.bytes(token)
        case .count(let count): [2] + BusFrame.bytes(count)
        case .picture(let token, let width, let height):
            [3] + [token, width, height].flatMap(BusFrame.bytes)
        case .pixels(let token, let bytes): [4] + BusFrame.bytes(token) + bytes
        case .reveal(let paths, let opens): [5, opens ? 1 : 0] + paths.flatMap(BusFrame.bytes)
        }
    }

    init?(encoded: [UInt8]) {
        var rest = encoded[...]
        guard let kind = rest.popFirst() else { return nil }
        if kind == 5 {
            guard let opens = rest.popFirst(), opens <= 1, let paths = Self.texts(rest) else { return nil }
            self = .reveal(paths, opens: opens == 1)
            return
        }
        guard let number = BusFrame.number(&rest) else { return nil }
        switch kind {
        case 0:
            guard let text = Self.shown(rest) else { return nil }
            self = .show(token: number, text)
            return
        case 1: self = .close(token: number)
        case 2: self = .count(number)
        case 3:
            guard let width = BusFrame.number(&rest), let height = BusFrame.number(&rest) else { return nil }
            self = .picture(token: number, width: width, height: height)
        case 4:
            self = .pixels(token: number, Array(rest))
            return
        default: return nil
        }
        guard rest.isEmpty else { return nil }
    }

    private static func bytes(of text: NotificationText) -> [UInt8] {
        let header = [
            text.urgency.rawValue, text.isClickable ? 1 : 0, text.isQuiet ? 1 : 0,
            UInt8(clamping: text.buttons.count),
        ]
        let texts = [text.summary, text.body, text.category] + text.buttons
        return header + texts.flatMap(BusFrame.bytes)
    }

    private static func shown(_ bytes: ArraySlice<UInt8>) -> NotificationText? {
        guard bytes.count >= 4, let urgency = NotificationText.Urgency(rawValue: bytes[bytes.startIndex]),
            bytes.dropFirst().prefix(2).allSatisfy({ $0 <= 1 }), let texts = texts(bytes.dropFirst(4)),
            texts.count == 3 + Int(bytes[bytes.startIndex + 3]),
            texts.count - 3 <= OfferedActions.maxButtons
        else { return nil }
        var text = NotificationText(
            summary: texts[0], body: texts[1], buttons: Array(texts[3...]), urgency: urgency,
            category: texts[2])
        text.isClickable = bytes[bytes.startIndex + 1] == 1
        text.isQuiet = bytes[bytes.startIndex + 2] == 1
        return text
    }

    /// Reads all remaining texts; returns nil if the last one has no end.
    private static func texts(_ bytes: ArraySlice<UInt8>) -> [String]? {
        var (rest, texts) = (bytes, [String]())
        while !rest.isEmpty {
            guard let text = BusFrame.text(&rest) else { return nil }
            texts.append(text)
        }
        return texts
    }
}

/// The encoding of answers.
extension NotificationAnswer {
    var encoded: [UInt8] {
        switch self {
        case .ready(let capabilities): [0] + capabilities.flatMap(BusFrame.bytes)
        case .noService: [1]
        case .shown(let token): [2] + BusFrame.bytes(token)
        case .failed(let token): [3] + BusFrame.bytes(token)
        case .closed(let token): [4] + BusFrame.bytes(token)
        case .acted(let token, let number):
            [5] + BusFrame.bytes(token) + [UInt8(clamping: number)]
        case .notShown: [6]
        // The end of the process signals it.
        case .ended: []
        }
    }

    init?(encoded: [UInt8]) {
        var rest = encoded[...]
        guard let kind = rest.popFirst() else { return nil }
        switch kind {
        case 0:
            var capabilities: [String] = []
            while !rest.isEmpty {
                guard let capability = BusFrame.text(&rest) else { return nil }
                capabilities.append(capability)
            }
            self = .ready(capabilities: capabilities)
        case 1: self = .noService
        case 6: self = .notShown
        default:
            guard let token = BusFrame.number(&rest) else { return nil }
            switch kind {
            case 2: self = .shown(token: token)
            case 3: self = .failed(token: token)
            case 4: self = .closed(token: token)
            case 5:
                guard let number = rest.popFirst() else { return nil }
                self = .acted(token: token, Int(number))
            default: return nil
            }
        }
        guard rest.isEmpty else { return nil }
    }
}
