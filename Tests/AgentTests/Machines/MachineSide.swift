import Base
import Cryptography
import Ratchet
import SMP
import TestSupport
import Testing

@testable import Agent

/// A sent message, as the peer's server delivers it.
struct Transmission {
    var kind: Outgoing.Kind
    var location: QueueLocation
    var body: DeliveredBody
}

/// One side of a connection without a driver. Keeps effects in memory; its servers execute commands at once.
struct MachineSide {
    private(set) var machine: ConnectionMachine
    /// Unsent messages.
    private(set) var waiting: [Outgoing] = []
    private(set) var events: [AgentEvent.Content] = []
    private(set) var received: [ReceivedMessage] = []
    private(set) var receipts: [MessageContent.Receipt] = []
    /// The number given by the last `.lost` effect.
    private(set) var lostAfter: [Int64] = []
    private var hashes: Set<[UInt8]> = []
    /// The servers' clock.
    var time = Timestamp(seconds: 1_700_000_000)
    /// This side's clock.
    var now = ElapsedTime(seconds: 1_000_000)

    init(_ state: ConnectionState, tools: AgentTools) { machine = ConnectionMachine(state, tools: tools) }

    var state: ConnectionState { machine.state }
    var condition: ConnectionCondition { machine.state.condition }
    var bodies: [String] { received.map { String(decoding: $0.body, as: UTF8.self) } }
    var conditions: [ConnectionCondition] {
        events.compactMap { if case .conditionChanged(let condition) = $0 { condition } else { nil } }
    }

    static func tools(seed: UInt64, settings: RatchetSettings = .init()) -> AgentTools {
        AgentTools(ratchet: RatchetTools(random: SeededBytes(seed)), settings: settings)
    }

    // MARK: - Steps

    /// Makes a step and returns its effects.
    @discardableResult
    mutating func step(_ body: (inout ConnectionMachine) throws -> Void) rethrows -> [Effect] {
        let before = machine.effects.count
        try body(&machine)
        let effects = Array(machine.effects.dropFirst(before))
        for effect in effects { perform(effect) }
        return effects
    }

    private mutating func perform(_ effect: Effect) {
        switch effect {
        case .tell(let content): events.append(content)
        case .deliver(let message, _, _): received.append(message)
        case .send(let item): waiting.append(item)
        case .delivered(let receipt): receipts.append(receipt)
        case .lost(let number): lostAfter.append(number)
        case .encryptAgain: waiting.removeAll { $0.kind == .message && $0.isUrgent }
        case .replaceKeys: waiting.removeAll { $0.kind == .keys }
        case .introduced: waiting.removeAll { $0.kind == .confirmation || $0.kind == .request }
        case .failWaiting: waiting.removeAll()
        case .remember(let hash): hashes.insert(hash)
        case .tryAgain, .request: break
        }
    }

    mutating func write(_ text: String) {
        waiting.append(.message(.body(Array(text.utf8))))
    }

    mutating func say(_ content: MessageContent, isUrgent: Bool = false) {
        waiting.append(.message(content, isUrgent: isUrgent))
    }

    mutating func forgetWhatWaits() { waiting.removeAll() }

    /// Sends the next message; nil if none can be sent. The server accepts it.
    mutating func transmit() throws -> Transmission? {
        guard let place = waiting.firstIndex(where: \.isUrgent) ?? waiting.indices.first else { return nil }
        let item = waiting[place]
        guard machine.isReady(item.kind, isUrgent: item.isUrgent), let queue = state.present else {
            return nil
        }
        if !queue.isSecured { step { $0.secured() } }
        let prepared = try machine.prepare(item.kind, content: item.content)
        waiting.remove(at: place)
        let isFirst = item.kind == .confirmation || item.kind == .request
        let body = try queue.body(of: prepared.envelope, isFirst: isFirst, nonce: prepared.nonce)
        step { $0.sent(item.kind) }
        return Transmission(
            kind: item.kind, location: queue.address.location,
            body: .message(received: time.seconds, flags: [UInt8(ascii: "F")], body: body))
    }

    /// Processes a message. Returns no effects if the queue is not this side's.
    @discardableResult
    mutating func take(_ transmission: Transmission) throws -> [Effect] {
        let place = state.receiving.firstIndex { queue in
            queue.address.map { transmission.location.isPlace(of: $0) } ?? false
        }
        guard let place else { return [] }
        let (known, now) = (hashes, now)
        return try step { try $0.receive(transmission.body, at: place, now: now) { known.contains($0) } }
    }

    // MARK: - Servers

    /// Performs pending work on this side's queues. Returns whether there was any.
    @discardableResult
    mutating func serve() throws -> Bool {
        var hasWorked = false
        for place in state.receiving.indices.reversed() {
            if state.receiving[place].status == .active, state.receiving[place].keyToSecure == nil {
                continue
            }
            hasWorked = true
            switch state.receiving[place].status {
            case .creating: try create(place)
            case .active: change { $0.securedReplacement(place) }
            case .suspending: change { $0.state.receiving[place].status = .draining }
            case .draining: change { $0.state.receiving[place].status = .deleting }
            case .deleting: change { _ = $0.state.receiving.remove(at: place) }
            }
        }
        return hasWorked
    }

    /// Reports a changed condition, as the driver does.
    mutating func change(_ body: (inout ConnectionMachine) -> Void) {
        step { machine in machine.changing { body(&$0) } }
    }

    private mutating func create(_ place: Int) throws {
        let random = machine.tools.random
        let ids = Answer.QueueIDs(
            recipientID: random.bytes(24), senderID: random.bytes(24),
            boxKey: try AgreementKey(rawValue: random.bytes(32)).publicKey, mode: nil)
        change { $0.created(ids, at: place) }
    }
}
