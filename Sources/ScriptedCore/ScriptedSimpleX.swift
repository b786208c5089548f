import Base
import Glibc

/// A SimpleX core with chats and messages in memory that speaks the chat API, as far as ChatFS asks. What it
/// says goes through the same texts and frames as with the real program, over a socket (`ScriptedServer`)
/// or without one.
public final class ScriptedSimpleX: Sendable {
    public struct State: Sendable {
        public var history = ScriptedHistory()
        public var contacts: [Int64: String] = [1: "bob"]
        public var groups: [Int64: String] = [:]
        /// Commands that begin like this are not answered.
        public var silent: Set<String> = []
        /// Commands that begin like this are carried out, and the connection breaks before the answer.
        public var breaking: Set<String> = []
        /// Refusals by the beginning of the command: the JSON of `chatError`.
        public var refusals: [String: String] = [:]
        /// Descriptions of files by the files' numbers.
        public var descriptions: [Int64: String] = [:]
        /// Files whose upload is complete in the core's second database and not in the first.
        public var forgotten: Set<Int64> = []
        /// Files whose description was given to the core's second database, and those of them whose description has not
        /// left it.
        public var described: Set<Int64> = []
        public var undescribed: Set<Int64> = []
        /// Messages that were sent and got no item, since the process ended in between.
        public var orphans = 0
        /// When its profile was made.
        public var created = "2026-01-02 03:04:05.678901234"
        /// Whether it answers questions about its database (`/sql`).
        public var answersQuestions = true
        /// The file that it says its chats are kept in. Nothing is written there: who changes the history
        /// without an event does that.
        public var databasePath = ""
        /// What it says could not be taken into an archive or out of it: JSON.
        public var archiveErrors: [String] = []
        /// Relays that the user has configured.
        public var relays: [String] = []
        /// Whether it talks to relays through a proxy.
        public var hidesAddress = false
        /// The user's own names, by references of chats.
        public var aliases: [String: String] = [:]
        /// Chats that the user has left.
        public var left: Set<String> = []
        /// Messages that say so to the others: all so far, and those that no relay has yet.
        public var deliveries = 0
        public var undelivered = 0
        /// The user's address, whether requests at it are accepted automatically, and who waits, by numbers.
        public var address: String?
        public var acceptsAutomatically = false
        public var requests: [Int64: String] = [:]
        /// Groups into which the first contact invites.
        public var invitedInto: Set<Int64> = []
        /// Which contact a connection became.
        public var connections: [Int64: Int64] = [:]
        /// What the core says of links, by the links: the JSON of `connectionPlan`.
        public var plans: [String: String] = [:]
        /// Files that belong to no chat, by their numbers: being uploaded or downloaded, or uploaded.
        public var standalone: Set<Int64> = []
        var lastStandalone: Int64 = 900_000
        public var work = Work()
    }

    /// What commands cost: the real core works on one database, so its commands wait for each other.
    public struct Work: Sendable {
        public var command: Duration = .zero
        /// For each message of a page.
        public var message: Duration = .zero

        public init() {}
    }

    private let state = Lock(State())
    private let commandTexts = Lock<[String]>([])
    /// Held over a command for as long as it takes: that is what is simulated.
    private let database = Lock(())

    private struct Hooks {
        var tells: @Sendable (String) -> Void = { _ in }
        var breaks: @Sendable () -> Void = {}
        var receives: @Sendable (ScriptedMessage) -> Void = { _ in }
    }
    private let hooks = Lock(Hooks())

    public init() {}

    @discardableResult
    public func change<Result>(_ body: (inout State) -> Result) -> Result { state.withLock { body(&$0) } }

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
        tell(#"{"type":"\#(type)",\#(Self.user),"chatItem":\#(pair(message))\#(more)}"#)
    }

    public func tellNew(_ message: ScriptedMessage) {
        change { $0.history.append(message) }
        tell(#"{"type":"newChatItems",\#(Self.user),"chatItems":[\#(pair(message))]}"#)
    }

    /// A message is gone: its time was over (`timed`), or somebody deleted it, and where a stub is left that
    /// says what became of it (`ScriptedMessage.deletion`).
    public func tellGone(_ id: Int64, timed: Bool = false, stub: String? = nil) {
        guard let message = change({ $0.history.remove(id) }) else { return }
        var left = message
        left.deletion = stub
        let replacement = stub == nil ? "" : #","toChatItem":\#(pair(left))"#
        tell(
            #"{"type":"chatItemsDeleted",\#(Self.user),"chatItemDeletions":[{"deletedChatItem":"#
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

    public static let user =
        #""user":{"userId":1,"localDisplayName":"alice","profile":{"displayName":"alice"}}"#

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
