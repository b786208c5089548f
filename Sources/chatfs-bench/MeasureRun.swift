import Base
import CommandLineKit

/// Takes measures one after another. A failure, a timeout or a missing reference leaves a gap in the report and nothing
/// on the machine; a stop signal ends the current measure and skips the rest.
struct MeasureRun: Sendable {
    let plan: Plan
    let stop: StopRequest

    func take(_ measures: [any Measure], into report: inout Report) async {
        let current = Lock<Stage?>(nil)
        let watch = Task {
            await stop.wait()
            current.withLock { $0 }?.abandon(Self.stopped)
        }
        defer { watch.cancel() }
        for measure in measures {
            guard !stop.isRequested else {
                report.gaps.append(Report.Gap(measure: measure.name, reason: Self.stopped))
                continue
            }
            Terminal.complain("measuring \(measure.name)…")
            let start = ContinuousClock.now
            do {
                let stage = try Stage(plan)
                current.withLock { $0 = stage }
                if stop.isRequested { stage.abandon(Self.stopped) }
                report.rows += try await Self.take(measure, on: stage)
            } catch {
                let reason = sentence(of: error)
                Terminal.complain("\(measure.name): \(reason)")
                report.gaps.append(Report.Gap(measure: measure.name, reason: reason))
            }
            current.withLock { $0 = nil }
            let seconds = FigureText.fixed(FileWork.seconds(since: start), decimals: 0)
            Terminal.complain("\(measure.name): \(seconds) s")
        }
    }

    private static let stopped = "The run was stopped."

    private static func take(_ measure: any Measure, on stage: Stage) async throws -> [Row] {
        let alarm = Task {
            try await Task.sleep(for: measure.limit)
            stage.abandon("It took longer than \(measure.limit.components.seconds) seconds.")
        }
        defer { alarm.cancel() }
        do {
            let rows = try await measure.take(on: stage)
            try await stage.takeDown()
            return rows
        } catch {
            try? await stage.takeDown()
            // The reason is the abandonment, not its consequences.
            try stage.check()
            throw error
        }
    }
}
