//! The table of all metrics, by Prometheus' conventions: base units (seconds, bytes, ratios), and
//! `_total` for counters. A sample has the values of its family's labels in their order, so no two
//! differ in labels. A register of counters would copy what a snapshot has, and keep links that went.
use std::fmt::Write;

/// The type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// A figure that goes up and down.
    Gauge,
    /// A figure that only grows, until the controller restarts or its source counts anew.
    Counter,
    /// Counts of values by size.
    Histogram,
}

/// Metrics with one name.
#[derive(Debug)]
pub struct MetricFamily {
    pub name: &'static str,
    /// Its type.
    pub kind: MetricKind,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// Its meaning.
    pub help: &'static str,
    /// The question of an operator that it answers.
    pub question: &'static str,
}

impl MetricKind {
    /// Its name in the exposition format.
    pub fn word(self) -> &'static str {
        match self {
            MetricKind::Gauge => "gauge",
            MetricKind::Counter => "counter",
            MetricKind::Histogram => "histogram",
        }
    }
}

macro_rules! families {
    ($($id:ident: $kind:ident $name:literal [$($label:literal),*] $help:literal, $question:literal;)*) => {
        $(
            #[doc = $help]
            pub static $id: MetricFamily = MetricFamily {
                name: $name,
                kind: MetricKind::$kind,
                labels: &[$($label),*],
                help: $help,
                question: $question,
            };
        )*
        /// Every family, in the order of the text.
        pub static ALL: &[&MetricFamily] = &[$(&$id),*];
    };
}

families! {
    BUILD_INFO: Gauge "heddle_build_info" ["version"] "The controller's version; always 1", "Which version runs?";
    EPOCH: Gauge "heddle_epoch" [] "Number of the current epoch, 0 before the first", "How often did the network change?";
    CHANGE_PENDING: Gauge "heddle_change_pending" [] "1 while a change waits for the hold-down", "Is something going on?";
    EPOCH_PUBLISHED: Gauge "heddle_epoch_published_timestamp_seconds" [] "Time at which the current epoch was published", "How old is the epoch?";
    EPOCH_HOSTS: Gauge "heddle_epoch_hosts" [] "Hosts of the current epoch", "Are all hosts planned for?";
    EPOCH_PHASES: Gauge "heddle_epoch_phases" [] "Phases of the all-to-all among all hosts", "What does this cabling cost?";
    EPOCH_STAGE: Gauge "heddle_epoch_stage_seconds" ["stage"] "Time from the first sign of the last change to the end of a stage (inferred, believed, planned, published, taken_up)", "Where did the time of the last change go?";
    ALARMS: Gauge "heddle_alarms" ["severity"] "Alarms that stand, without those that follow from others (info, warning, error)", "Must somebody look?";
    ALARM_CODES: Gauge "heddle_alarms_by_code" ["code"] "The same by their codes (docs/alarms.md)", "What is it about?";
    EVENTS: Counter "heddle_events_total" ["level"] "Messages to operators (info, warning, error)", "Is it restless?";
    SNMP_DURATION: Histogram "heddle_snmp_request_duration_seconds" [] "Time of answered SNMP requests of sessions, to all switches, with their repetitions", "How quick are the switches?";
    SNMP_ANSWERS: Counter "heddle_snmp_answers_total" ["switch"] "Answered SNMP requests", "How much is a switch asked?";
    SNMP_SECONDS: Counter "heddle_snmp_answer_seconds_total" ["switch"] "Time of all answered SNMP requests", "Which switch is slow? (divide by the answers)";
    SNMP_FAILURES: Counter "heddle_snmp_failures_total" ["switch", "reason"] "Failed SNMP requests (timeout, refused, error)", "Which switch does not answer, and why?";
    SWITCH_UP: Gauge "heddle_switch_up" ["switch"] "1 if the switch answers", "Is a switch silent?";
    SWITCH_SEEN: Gauge "heddle_switch_seen_timestamp_seconds" ["switch"] "Time of the switch's last answer", "Since when is it silent?";
    SWITCH_CHANGES: Counter "heddle_switch_topology_changes_total" ["switch"] "Topology changes that the switch counts (dot1dStpTopChanges)", "Does the spanning tree come to rest?";
    PORT_UP: Gauge "heddle_port_up" ["switch", "port"] "1 if a port at the end of a link is up", "Which port is down?";
    PORT_IN: Counter "heddle_port_receive_bytes_total" ["switch", "port"] "Bytes into the switch since the controller first looked", "How much does a cable carry?";
    PORT_OUT: Counter "heddle_port_transmit_bytes_total" ["switch", "port"] "Bytes out of the switch since the controller first looked", "How much does a cable carry?";
    PORT_IN_ERRORS: Counter "heddle_port_receive_errors_total" ["switch", "port"] "Frames with errors, as of the last full read (ifInErrors)", "Is a cable bad?";
    PORT_OUT_ERRORS: Counter "heddle_port_transmit_errors_total" ["switch", "port"] "Frames that could not be sent (ifOutErrors)", "Is a port bad?";
    PORT_IN_DISCARDS: Counter "heddle_port_receive_discards_total" ["switch", "port"] "Good frames dropped on the way in (ifInDiscards)", "Is a switch short of memory?";
    PORT_OUT_DISCARDS: Counter "heddle_port_transmit_discards_total" ["switch", "port"] "Good frames dropped on the way out (ifOutDiscards)", "Where do queues overflow?";
    LINK_LOAD: Gauge "heddle_link_load_bytes_per_second" ["from", "from_port", "to", "to_port", "network"] "Measured load of a link in one direction", "Which link is busy?";
    LINK_SPEED: Gauge "heddle_link_speed_bytes_per_second" ["from", "from_port", "to", "to_port", "network"] "What a link can carry in one direction", "Which share of a link is in use? (divide the load by it)";
    LINK_FORWARDING: Gauge "heddle_link_forwarding" ["from", "from_port", "to", "to_port", "network"] "1 if a link carries frames, 0 if spanning tree blocks it or nobody tells", "Which links does the tree use?";
    LINK_MESSAGES: Gauge "heddle_link_alltoall_messages" ["from", "from_port", "to", "to_port", "network"] "Messages of one all-to-all among all hosts over a link in one direction", "Which link limits the all-to-all?";
    AGENT_UP: Gauge "heddle_agent_up" ["host"] "1 if the host's agent reports", "Is an agent silent?";
    HOST_IN: Gauge "heddle_host_receive_bytes_per_second" ["host"] "Measured load into a host, by its card's counters", "Which host is busy?";
    HOST_OUT: Gauge "heddle_host_transmit_bytes_per_second" ["host"] "Measured load out of a host, by its card's counters", "Which host is busy?";
    ROUND_TRIP: Gauge "heddle_host_round_trip_seconds" ["from", "to"] "Shortest round trip between two hosts", "How far apart are clusters?";
    FLOW_MEASUREMENTS: Counter "heddle_flow_measurements_total" ["result"] "Measurements of flows between hosts (measured, failed, refused)", "Do measurements come to a result?";
    FLOW_RUNNING: Gauge "heddle_flow_measurement_running" [] "1 while flows between hosts are measured", "Who fills the cables?";
    FLOW_SENT: Counter "heddle_flow_measurement_sent_bytes_total" [] "Bytes that hosts sent in measurements, counted when one ends", "What does measuring cost the network?";
    FLOW_ENDED: Gauge "heddle_flow_measurement_ended_timestamp_seconds" [] "Time at which the last measurement ended", "How old is what flows found?";
    JOBS: Gauge "heddle_jobs" ["state"] "Process sets seen lately that are listed one by one (running, ended)", "Do jobs use heddle?";
    JOBS_MORE: Gauge "heddle_jobs_not_shown" [] "Process sets beyond those that are listed one by one", "Is the list complete?";
    JOB_INFO: Gauge "heddle_job_info" ["job_id", "program", "user", "mpi"] "A process set of a job; always 1", "Whose job is it?";
    JOB_RUNNING: Gauge "heddle_job_running" ["job_id"] "1 while the process set writes its record", "Does it run?";
    JOB_RANKS: Gauge "heddle_job_ranks" ["job_id"] "Ranks of the process set", "How large is it?";
    JOB_EPOCH: Gauge "heddle_job_epoch" ["job_id"] "The epoch that it follows, 0 if none", "Do jobs follow the newest epoch?";
    JOB_ASIDE: Gauge "heddle_job_aside" ["job_id"] "1 if heddle stands aside, so that the library's own routines run: no epoch fits, the library uses another network, or ranks differ", "Which jobs does heddle not serve?";
    JOB_CALLS: Counter "heddle_job_calls_total" ["job_id", "collective", "way"] "Calls of a collective by one way", "Which ways do calls go?";
    JOB_SECONDS: Counter "heddle_job_call_seconds_total" ["job_id", "collective", "way"] "Time of these calls", "What do calls cost?";
    JOB_THROUGHPUT: Gauge "heddle_job_throughput_bytes_per_second" ["job_id"] "Bytes that all ranks received in collectives, for each second in them, lately", "How fast is it?";
    JOB_BOUND: Gauge "heddle_job_bound_ratio" ["job_id"] "Reached share of the payload bound lately, 0 to 1", "How good is it?";
    JOB_LEARNING_COST: Gauge "heddle_job_learning_cost_seconds" ["job_id"] "Time that trying slower ways cost a job", "What does learning cost?";
    JOB_LEARNING_SAVED: Gauge "heddle_job_learning_saved_seconds" ["job_id"] "Time that a job took less than by the library's own routines; below zero if more", "What does learning save?";
    PROCESS_CPU: Counter "process_cpu_seconds_total" [] "Processor time of the controller", "What does the controller cost?";
    PROCESS_RESIDENT: Gauge "process_resident_memory_bytes" [] "Resident memory of the controller", "What does the controller cost?";
    PROCESS_VIRTUAL: Gauge "process_virtual_memory_bytes" [] "Virtual memory of the controller", "What does the controller cost?";
    PROCESS_FDS: Gauge "process_open_fds" [] "Open files of the controller", "Does it run out of files?";
    PROCESS_MAX_FDS: Gauge "process_max_fds" [] "Files that the controller may open", "Does it run out of files?";
    PROCESS_START: Gauge "process_start_time_seconds" [] "Time at which the controller started", "Did it restart?";
}

/// The table as Markdown.
pub fn markdown() -> String {
    let mut table = "metric | type | labels | meaning | question\n---|---|---|---|---\n".to_owned();
    for family in ALL {
        let labels: Vec<String> = family.labels.iter().map(|l| format!("`{l}`")).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "`{}` | {} | {} | {} | {}",
            family.name,
            family.kind.word(),
            labels.join(" "),
            family.help,
            family.question
        );
    }
    table
}
