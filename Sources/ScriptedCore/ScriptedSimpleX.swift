import Base
import Glibc

/// A SimpleX core with chats and messages in memory that speaks the chat API, as far as ChatFS asks. What it
/// says goes through the same texts and frames as with the real program, over a socket (`ScriptedServer`)
/// or without one.
public final class ScriptedSimpleX: Sendable {
    private let state = Lock(ScriptedState())
    private let commandTexts = Lock<[String]>([])
    /// Held over a command for as long as it takes: that is what is simulated.
    private let database = Lock((), rank: .collection)

    private struct Hooks {
        var tells: @Sendable (String) -> Void = { _ in }
        var breaks: @Sendable () -> Void = {}
        var receives: @Sendable (ScriptedMessage) -> Void = { _ in }
    }
    private let hooks = Lock(Hooks())

    public init() {}

    @discardableResult
    public func change<Result>(_ body: (inout ScriptedState) -> Result) -> Result {
        state.withLock { body(&$0) }
    }

    /// Command texts so far, in order.
    public var commands: [String] { commandTexts.withLock { $0 } }

    /// How many commands so far began like this.
    public func count(_ beginning: String) -> Int { commands.filter { $0.hasPrefix(beginning) }.count }

    /// The next process of the core: the same chats, no command yet.
    public func restart() { commandTexts.withLock { $0 = [] } }

    /// Where events go (the JSON of `resp`), and how its connections are broken.
    public func connect(
        tells: @escaping @Sendable (String) -> Void, breaks: @escaping @Sendable () -> Void
    ) {
        hooks.withLock { hooks in
            hooks.tells = tells
            hooks.breaks = breaks
        }
    }

    /// What it does when it accepted a file. Called on the thread of the command.
    public func whenReceiving(_ body: @escaping @Sendable (ScriptedMessage) -> Void) {
        hooks.withLock { $0.receives = body }
    }

    // MARK: - Events

    public func tell(_ json: String) { hooks.withLock { $0 }.tells(json) }

    public func tell(_ type: String, _ message: ScriptedMessage, more: String = "") {
        tell(#"{"type":"\#(type)",\#(ScriptedState.user),"chatItem":\#(pair(message))\#(more)}"#)
    }

    public func tellNew(_ message: ScriptedMessage) {
        change { $0.history.append(message) }
        tell(#"{"type":"newChatItems",\#(ScriptedState.user),"chatItems":[\#(pair(message))]}"#)
    }

    /// A message is gone: its time was over (`timed`), or somebody deleted it, and where a stub is left that
    /// says what became of it (`ScriptedMessage.deletion`).
    public func tellGone(_ id: Int64, timed: Bool = false, stub: String? = nil) {
        guard let message = change({ $0.history.remove(id) }) else { return }
        var left = message
        left.deletion = stub
        let replacement = stub == nil ? "" : #","toChatItem":\#(pair(left))"#
        tell(
            #"{"type":"chatItemsDeleted",\#(ScriptedState.user),"chatItemDeletions":[{"deletedChatItem":"#
                + #"\#(pair(message))\#(replacement)}],"byUser":\#(timed),"timed":\#(timed)}"#)
    }

    /// The file of a message has been received and lies at `path`.
    public func complete(_ id: Int64, path: String, cryptoArguments: String?) {
        let message = change { state in
            state.history.change(id) { message in
                message.status = #"{"type":"rcvComplete"}"#
                message.path = path
                message.cryptoArguments = cryptoArguments
            }
        }
        if let message { tell("rcvFileComplete", message) }
    }

    // MARK: - JSON

    /// `AChatItem`.
    public func pair(_ message: ScriptedMessage) -> String {
        state.withLock { $0.pair(message) }
    }

    // MARK: - Commands

    /// The JSON of `resp`; nil when there is no answer. Blocks for as long as the command takes.
    public func answer(_ text: String) -> String? {
        commandTexts.withLock { $0.append(text) }
        let (isSilent, breaks, refusal) = state.withLock { state in
            (
                state.silent.contains { text.hasPrefix($0) }, state.breaking.contains { text.hasPrefix($0) },
                state.refusals.first { text.hasPrefix($0.key) }?.value
            )
        }
        if isSilent { return nil }
        if let refusal { return #"{"type":"chatCmdError","chatError":\#(refusal)}"# }
        let outcome = database.withLock { _ in
            let outcome = state.withLock { ScriptedCommand(text).carryOut(&$0) }
            if outcome.takes > .zero { usleep(useconds_t(outcome.takes / .microseconds(1))) }
            return outcome
        }
        if breaks {
            change { state in state.breaking = state.breaking.filter { !text.hasPrefix($0) } }
            hooks.withLock { $0 }.breaks()
            return nil
        }
        if let received = outcome.received { hooks.withLock { $0 }.receives(received) }
        return outcome.response
    }
}
