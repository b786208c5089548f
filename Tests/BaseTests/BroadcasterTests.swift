import Base
import Testing

@Suite(.timeLimit(.minutes(10))) struct BroadcasterTests {
    @Test func everyListenerGetsAllElementsInOrder() async {
        let broadcaster = Broadcaster<Int>()
        broadcaster.send(0)
        let (first, second) = (broadcaster.subscribe(), broadcaster.subscribe())
        for number in 1...100 { broadcaster.send(number) }
        broadcaster.finish()
        broadcaster.send(101)
        for stream in [first, second] {
            var numbers: [Int] = []
            for await number in stream { numbers.append(number) }
            #expect(numbers == Array(1...100))
        }
    }

    @Test func lateListenersGetAnEndedStream() async {
        let broadcaster = Broadcaster<Int>()
        broadcaster.finish()
        broadcaster.finish()
        for await number in broadcaster.subscribe() { Issue.record("\(number) after the end") }
    }

    @Test func aDroppedListenerBlocksNoSender() async {
        let broadcaster = Broadcaster<Int>()
        let other = broadcaster.subscribe()
        let listener = Task {
            for await number in broadcaster.subscribe() where number == 1 { return }
        }
        while !listener.isCancelled {
            broadcaster.send(1)
            if await listener.result(within: .milliseconds(5)) != nil { break }
        }
        broadcaster.finish()
        var count = 0
        for await number in other { count += number }
        #expect(count > 0)
    }
}
