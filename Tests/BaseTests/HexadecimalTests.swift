import Testing

@testable import Base

@Suite("Hexadecimal text and mutexes")
struct HexadecimalTests {
    @Test("every byte has two digits, and both cases are read")
    func bytes() {
        let all = [UInt8](0...255)
        let text = Hexadecimal.encode(all)
        #expect(text.count == 512 && text.hasPrefix("000102") && text.hasSuffix("fdfeff"))
        #expect(text == text.lowercased())
        #expect(Hexadecimal.decode(text) == all && Hexadecimal.decode(text.uppercased()) == all)
        #expect(Hexadecimal.encode([] as [UInt8]) == "" && Hexadecimal.decode("") == [])
        #expect(Hexadecimal.decode("ff00"[...]) == [255, 0])
    }

    @Test("other characters and odd lengths are refused")
    func nonsense() {
        for text in [
            "0", "abc", "0g", "g0", " 0", "0x", "é0", "0\u{301}0", "ａｂ", "--", "+1", "00 ", "\n00\n",
        ] {
            #expect(Hexadecimal.decode(text) == nil, "\(text)")
        }
        for digit in UInt8.min...UInt8.max {
            let isDigit = Array("0123456789abcdefABCDEF".utf8).contains(digit)
            #expect((Hexadecimal.value(of: digit) != nil) == isDigit)
        }
    }

    @Test("a lock passes results and errors on")
    func lock() {
        struct Refusal: Error, Equatable {}
        let lock = Lock(1)
        let result = lock.withLock { state in
            state += 1
            return state * 10
        }
        #expect(result == 20)
        #expect(throws: Refusal.self) {
            try lock.withLock { (state: inout Int) throws(Refusal) in
                state = 7
                throw Refusal()
            }
        }
        #expect(lock.withLock { $0 } == 7)
        let mutex = BlockingMutex()
        #expect(throws: Refusal.self) { try mutex.withLock { () throws(Refusal) in throw Refusal() } }
        mutex.lock()
        mutex.unlock()
        #expect(mutex.withLock { 3 } == 3)
    }

    @Test("concurrent increments under a lock are exact")
    func counting() async {
        let (sum, blocking) = (Lock(0), BlockingMutex())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<2000 { sum.withLock { $0 += 1 } } }
            }
        }
        #expect(sum.withLock { $0 } == 16_000)
        #expect(blocking.withLock { true })
    }

    @Test("relocking a refusing mutex fails")
    func relocking() {
        let mutex = PthreadMutex(refusesRelocking: true)
        let (first, second) = (mutex.lock(), mutex.lock())
        #expect(first && !second)
        mutex.unlock()
        let third = mutex.lock()
        #expect(third)
        mutex.unlock()
    }
}
