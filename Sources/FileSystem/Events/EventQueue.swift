import Base

/// Selects the next event to apply. A pure machine.
///
/// Events wait in lanes. Each lane delivers in order of arrival. A failed event blocks its lane for a delay and is then
/// delivered again; other lanes continue. One event is in hand at a time: `succeeded` or `failed` must follow each
/// `next`.
struct EventQueue<Lane: Hashable, Event> {
    typealias Instant = ContinuousClock.Instant

    /// A lane whose first event failed.
    private struct Postponed {
        var events: [Event]
        var failures: Int
        var until: Instant
    }

    /// Events of lanes that are not postponed. Those before `first` were delivered.
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

    /// Returns nil if every lane is empty or delayed.
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

    /// Removes the event in hand after success, or gives it up.
    mutating func succeeded() {
        guard let (lane, _) = takeFromHand(), postponed[lane] != nil else { return }
        postponed[lane]?.failures = 0
        if postponed[lane]?.events.isEmpty == true { postponed[lane] = nil }
    }

    /// Postpones the event in hand. Returns the number of consecutive failures in its lane.
    mutating func failed(at now: Instant) -> Int {
        guard let (lane, event) = takeFromHand() else { return 0 }
        var late = postponed[lane] ?? Postponed(events: behind(lane), failures: 0, until: now)
        late.events.insert(event, at: 0)
        late.failures += 1
        late.until = now + (policy.delay(beforeTry: late.failures + 1) ?? policy.maxDelay)
        postponed[lane] = late
        return late.failures
    }

    /// End of the earliest delay; nil if no lane is postponed.
    var nextTry: Instant? { postponed.values.map(\.until).min() }

    /// Ends all delays.
    mutating func endDelays(at now: Instant) {
        for lane in postponed.keys { postponed[lane]?.until = now }
    }

    private mutating func takeFromHand() -> (lane: Lane, event: Event)? {
        assert(inHand != nil, "no event is in hand")
        defer { inHand = nil }
        return inHand
    }

    /// Removes and returns the waiting events of a lane.
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
