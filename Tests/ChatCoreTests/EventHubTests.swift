import Testing

@testable import ChatCore

@Suite struct EventHubTests {
    private func deletion(_ number: Int64) -> ChatEvent {
        .chatItemsDeleted([(chat: .notes(1), item: ItemID(number))], .deleted)
    }

    @Test func listenersGetEventsInCommitOrder() async {
        let hub = EventHub()
        let streams = [hub.listen(), hub.listen()]
        let numbers = (0..<5).map { _ in hub.reserve() }
        // Delivered in another order, and one change failed.
        for index in [3, 0, 4, 1, 2] {
            hub.deliver(index == 1 ? [] : [deletion(Int64(index))], ofChange: numbers[index])
        }
        hub.close()
        for stream in streams {
            var seen: [Int64] = []
            for await event in stream {
                if case .chatItemsDeleted(let items, _) = event { seen += items.map(\.item.rawValue) }
            }
            #expect(seen == [0, 2, 3, 4])
        }
    }

    @Test func lateListenerGetsLaterEventsOnly() async {
        let hub = EventHub()
        hub.tell(deletion(1))
        let stream = hub.listen()
        hub.tell(deletion(2))
        hub.close()
        var count = 0
        for await _ in stream { count += 1 }
        for await _ in hub.listen() { count += 100 }
        #expect(count == 1)
    }

    /// All events so far, one word each.
    private func words(of stream: AsyncStream<ChatEvent>) async -> [String] {
        var words: [String] = []
        for await event in stream {
            switch event {
            case .coreUnreachable(let sentence, _): words.append(sentence)
            case .coreReachable: words.append("back")
            default: words.append("other")
            }
        }
        return words
    }

    @Test func newListenerFirstGetsUnreachableEvent() async {
        let hub = EventHub()
        let first = hub.listen()
        hub.tell(.coreUnreachable("full"))
        hub.tell(deletion(1))
        let second = hub.listen()
        hub.tell(.coreUnreachable("damaged"))
        let third = hub.listen()
        hub.tell(.coreReachable)
        let last = hub.listen()
        hub.tell(deletion(2))
        hub.close()
        #expect(await words(of: first) == ["full", "other", "damaged", "back", "other"])
        #expect(await words(of: second) == ["full", "damaged", "back", "other"])
        #expect(await words(of: third) == ["damaged", "back", "other"])
        #expect(await words(of: last) == ["other"])
    }

    @Test func pendingUnreachableEventIsNotRepeatedEarly() async {
        let hub = EventHub()
        let (early, late) = (hub.reserve(), hub.reserve())
        hub.deliver([.coreUnreachable("away")], ofChange: late)
        let before = hub.listen()
        hub.deliver([deletion(1)], ofChange: early)
        let after = hub.listen()
        hub.close()
        #expect(await words(of: before) == ["other", "away"])
        #expect(await words(of: after) == ["away"])
    }

    @Test func failedChangePublishesNothingAndBlocksNothing() async {
        struct Failure: Error {}
        let hub = EventHub()
        let stream = hub.listen()
        #expect(throws: Failure.self) {
            try hub.publish { reserve -> (result: Int, events: [ChatEvent]) in
                reserve()
                throw Failure()
            }
        }
        // Before its transaction.
        #expect(throws: Failure.self) {
            try hub.publish { _ -> (result: Int, events: [ChatEvent]) in throw Failure() }
        }
        let result = hub.publish { reserve in
            // The transaction is repeated on a full disk.
            reserve()
            reserve()
            // Published by another thread during the change, hence later.
            hub.tell(deletion(2))
            return (7, [deletion(1)])
        }
        #expect(result == 7)
        hub.close()
        var seen: [Int64] = []
        for await event in stream {
            if case .chatItemsDeleted(let items, _) = event { seen += items.map(\.item.rawValue) }
        }
        #expect(seen == [1, 2])
    }
}
