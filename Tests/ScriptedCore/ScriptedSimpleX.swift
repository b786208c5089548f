import Base
import Glibc

/// A SimpleX core with chats and messages in memory that implements the used part of the chat API. Its texts and frames
/// take the same way as those of the real program, over a socket (`ScriptedServer`) or without one.
public final class ScriptedSimpleX: Sendable {
    private let state = Lock(ScriptedState())
    private let commandTexts = Lock<[String]>([])
    /// Held for the whole duration of a command, which is simulated.
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

    /// The received commands in order.
    public var commands: [String] { commandTexts.withLock { $0 } }

    /// Returns the number of commands with this prefix.
    public func count(_ beginning: String) -> Int { commands.filter { $0.hasPrefix(beginning) }.count }

    /// Restarts the core's process: the same chats, no commands yet.
    public func restart() { commandTexts.withLock { $0 = [] } }

    /// The receiver of events (the JSON of `resp`), and the way to break its connections.
    public func connect(
        tells: @escaping @Sendable (String) -> Void, breaks: @escaping @Sendable () -> Void
    ) {
        hooks.withLock { hooks in
            hooks.tells = tells
            hooks.breaks = breaks
        }
    }

    /// Called when it accepted a file, on the thread of the command.
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

    /// Deletes a message because it expired (`timed`) or another side deleted it. May leave a stub with a reason
    /// (`ScriptedMessage.deletion`).
    public func tellGone(_ id: Int64, timed: Bool = false, stub: String? = nil) {
        guard let message = change({ $0.history.remove(id) }) else { return }
        var left = message
        left.deletion = stub
        let replacement = stub == nil ? "" : #","toChatItem":\#(pair(left))"#
        tell(
            #"{"type":"chatItemsDeleted",\#(ScriptedState.user),"chatItemDeletions":[{"deletedChatItem":"#
                + #"\#(pair(message))\#(replacement)}],"byUser":\#(timed),"timed":\#(timed)}"#)
    }

    /// The file of a message was received at `path`.
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

    /// The JSON of `resp`, or nil for no answer. Blocks for the duration of the command.
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
