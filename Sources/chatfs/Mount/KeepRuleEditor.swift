import ChatCore
import CommandLineKit
import Desktop
import Keeping

/// Carries out requests about keep rules. Blocks.
struct KeepRuleEditor: Sendable {
    let store: KeepStore
    let chats: NamedChats

    func answer(_ request: KeepRequest) throws -> [ListedRule] {
        let chat = try request.chat.map { name throws(ChatError) in try chats.chat(name) }
        switch request.action {
        case .show: break
        case .set: try store.change(chat?.reference, by: try change(request))
        case .reset: try store.reset(chat?.reference)
        }
        let rules = try store.rules()
        if let chat { return [Self.rule(rules.rule(for: chat.reference), of: chat)] }
        let own = chats.all.filter { rules.chats[$0.reference] != nil }.sorted { $0.name < $1.name }
        return [Self.rule(rules.usual, of: nil)]
            + own.map { Self.rule(rules.rule(for: $0.reference), of: $0) }
    }

    private func change(_ request: KeepRequest) throws(UsageError) -> KeepOverride {
        let kinds = request.what.map(KeepRule.Kinds.init)
        let moment = request.when.map(KeepRule.Moment.init)
        // Commands already checked these values.
        if case .some(nil) = kinds { throw UsageError("--what takes never, media or all") }
        if case .some(nil) = moment { throw UsageError("--when takes arrival or expiring") }
        return KeepOverride(
            kinds: kinds ?? nil, largest: request.largest, minimumFree: request.minimumFree,
            usesMetered: request.metered, moment: moment ?? nil, receivesSmallMedia: request.autoReceive)
    }

    private static func rule(_ rule: KeepRule, of chat: NamedChat?) -> ListedRule {
        ListedRule(
            chat: chat?.reference.description, name: chat?.name, what: rule.kinds.rawValue,
            largest: rule.largest, minimumFree: rule.minimumFree, metered: rule.usesMetered,
            when: rule.moment.rawValue, autoReceive: rule.receivesSmallMedia)
    }
}
