import MessageBus

/// What the process on the bus is told, as bytes.
enum BusRequest: Hashable, Sendable {
    case show(token: UInt64, NotificationText)
    case close(token: UInt64)
    case count(UInt64)

    var encoded: [UInt8] {
        switch self {
        case .show(let token, let text):
            [0] + BusFrame.bytes(token) + BusFrame.bytes(UInt64(text.urgency.rawValue))
                + [text.summary, text.body, text.button ?? "", text.secondButton ?? "", text.category]
                .flatMap(BusFrame.bytes)
        case .close(let token): [1] + BusFrame.bytes(token)
        case .count(let count): [2] + BusFrame.bytes(count)
        }
    }

    init?(encoded: [UInt8]) {
        var rest = encoded[...]
        guard let kind = rest.popFirst(), let number = BusFrame.number(&rest) else { return nil }
        switch kind {
        case 0:
            guard let level = BusFrame.number(&rest), let level = UInt8(exactly: level),
                let urgency = NotificationText.Urgency(rawValue: level),
                let summary = BusFrame.text(&rest), let body = BusFrame.text(&rest),
                let button = BusFrame.text(&rest), let second = BusFrame.text(&rest),
                let category = BusFrame.text(&rest)
            else { return nil }
            var text = NotificationText(
                summary: summary, body: body, button: button.isEmpty ? nil : button, urgency: urgency,
                category: category)
            text.secondButton = second.isEmpty ? nil : second
            self = .show(token: number, text)
        case 1: self = .close(token: number)
        case 2: self = .count(number)
        default: return nil
        }
        guard rest.isEmpty else { return nil }
    }
}

/// What it says, as bytes.
extension NotificationAnswer {
    var encoded: [UInt8] {
        switch self {
        case .ready(let capabilities): [0] + capabilities.flatMap(BusFrame.bytes)
        case .noService: [1]
        case .shown(let token): [2] + BusFrame.bytes(token)
        case .failed(let token): [3] + BusFrame.bytes(token)
        case .closed(let token): [4] + BusFrame.bytes(token)
        case .acted(let token, let isSecond): [5] + BusFrame.bytes(token) + (isSecond ? [1] : [])
        // Said by the end of the process.
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
        default:
            guard let token = BusFrame.number(&rest) else { return nil }
            switch kind {
            case 2: self = .shown(token: token)
            case 3: self = .failed(token: token)
            case 4: self = .closed(token: token)
            case 5:
                self = .acted(token: token, isSecond: rest.first == 1)
                if rest.first == 1 { rest.removeFirst() }
            default: return nil
            }
        }
        guard rest.isEmpty else { return nil }
    }
}
