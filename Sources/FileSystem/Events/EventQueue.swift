import Base

/// Which event is taken in next: a machine without input or output.
///
/// Events stand in lanes. Those of one lane are given in the order in which they came, and none is given before
/// the one ahead of it was taken in; one that could not be is given again after a delay, and holds up no other
/// lane. One event is in hand at a time: each `next` is followed by `succeeded` or `failed`.
struct EventQueue<Lane: Hashable, Event> {
    typealias Instant = ContinuousClock.Instant

    /// A lane whose first event could not be taken in.
    private struct Postponed {
        var events: [Event]
        var failures: Int
        var until: Instant
    }

    /// Of lanes that are not postponed. What lies before `first` was given.
    private var waiting: [(lane: Lane, event: Event)] = []
    private var first = 0
    private var postponed: [Lane: Postponed] = [:]
    private var inHand: (lane: Lane, event: Event)?
    private let policy: RetryPolicy

    init(retrying policy: RetryPolicy) { self.policy = policy }

    mutating func add(_ event: Event, in lane: Lane) {
        if postponed[lane] != nil {
            postponed[lane]?.events.append(event)
        } else {
            waiting.append((lane, event))
        }
    }

    /// Nil when there is none, or none whose delay is over.
    mutating func next(at now: Instant) -> Event? {
        precondition(inHand == nil, "an event is in hand")
        let due = postponed.filter { $0.value.until <= now }.min { $0.value.until < $1.value.until }
        if let (lane, _) = due, let event = postponed[lane]?.events.removeFirst() {
            inHand = (lane, event)
        } else if first < waiting.count {
            inHand = waiting[first]
            first += 1
            if first == waiting.count || first >= 1024 { compact() }
        }
        return inHand?.event
    }

    /// The event in hand was taken in, or is given up.
    mutating func succeeded() {
        guard let (lane, _) = takeFromHand(), postponed[lane] != nil else { return }
        postponed[lane]?.failures = 0
        if postponed[lane]?.events.isEmpty == true { postponed[lane] = nil }
    }

    /// The event in hand is to be given again, later. Answers how often in a row this has happened in its lane.
    mutating func failed(at now: Instant) -> Int {
        guard let (lane, event) = takeFromHand() else { return 0 }
        var late = postponed[lane] ?? Postponed(events: behind(lane), failures: 0, until: now)
        late.events.insert(event, at: 0)
        late.failures += 1
        late.until = now + (policy.delay(beforeTry: late.failures + 1) ?? policy.maxDelay)
        postponed[lane] = late
        return late.failures
    }

    /// When the next delay is over; nil when nothing is postponed.
    var nextTry: Instant? { postponed.values.map(\.until).min() }

    /// No delay is waited for any more.
    mutating func endDelays(at now: Instant) {
        for lane in postponed.keys { postponed[lane]?.until = now }
    }

    private mutating func takeFromHand() -> (lane: Lane, event: Event)? {
        assert(inHand != nil, "no event is in hand")
        defer { inHand = nil }
        return inHand
    }

    /// Takes what waits of a lane out of those that wait.
    private mutating func behind(_ lane: Lane) -> [Event] {
        compact()
        defer { waiting.removeAll { $0.lane == lane } }
        return waiting.filter { $0.lane == lane }.map(\.event)
    }

    private mutating func compact() {
        waiting.removeFirst(first)
        first = 0
    }
}
