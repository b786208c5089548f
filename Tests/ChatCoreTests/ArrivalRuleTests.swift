import Base
import Testing

@testable import ChatCore

/// Automatic receiving of files.
@Suite struct ArrivalRuleTests {
    private func item(
        in chat: ChatReference, _ kind: MessageContent.Kind = .image(preview: ""), size: UInt64 = 1
    ) -> ChatItem {
        ChatItem(
            id: ItemID(1), chat: chat, direction: .received, sender: "bob", time: Timestamp(seconds: 0),
            content: MessageContent(kind: kind),
            file: ChatFile(
                id: FileID(1), name: "a.jpg", size: size, status: .rcvInvitation(described: true),
                transport: .xftp))
    }

    @Test func smallMediaIsReceivedUnlessDisabled() {
        let rule = ArrivalRule()
        #expect(rule.receives(item(in: .direct(1))))
        #expect(!rule.receives(item(in: .direct(1), .file)))
        #expect(!rule.receives(item(in: .direct(1), size: FilePolicy.autoReceiveImage + 1)))
        rule.change(to: ArrivalRule.Choice(usual: false))
        #expect(!rule.receives(item(in: .direct(1))))
    }

    @Test func chatsOwnChoiceCounts() {
        let rule = ArrivalRule(ArrivalRule.Choice(usual: false, chats: [.direct(1): true]))
        #expect(rule.receives(item(in: .direct(1))) && !rule.receives(item(in: .group(1))))
        rule.change(to: ArrivalRule.Choice(chats: [.direct(1): false]))
        #expect(!rule.receives(item(in: .direct(1))) && rule.receives(item(in: .group(1))))
    }
}
