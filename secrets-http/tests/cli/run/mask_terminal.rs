//! Tests of the option `--mask` of `secrets run` on a terminal: the command has a pseudo-terminal.

use serde_json::json;

use super::tmux::Tmux;
use super::{Log, SECRETS, staging};

#[test]
fn a_masked_command_sees_a_terminal_with_its_size() {
    let (_server, home) = staging(&[("A", "kvc_value_a")]);
    let script = "trap 'stty size' WINCH; test -t 0 && test -t 1 && test -t 2 && \
        tty < /dev/tty > /dev/null && echo all''terminals $(stty size); \
        echo \"value: $A\"; until [ -e go ]; do sleep 0.02; done";
    home.write("size.sh", script);
    let tmux = Tmux::start(&home);

    tmux.line("secrets run --mask --mask-delay 1h -- bash size.sh; echo status=$?");
    tmux.wait_for("allterminals 24 80");
    tmux.wait_for("value: ***");
    tmux.resize(100, 30);
    tmux.wait_for("30 100");
    home.write("go", "");

    let screen = tmux.wait_for("status=0");
    assert!(!screen.contains("kvc_"), "{screen}");
}

#[test]
fn the_modes_of_the_terminal_are_restored_after_masking() {
    let (_server, home) = staging(&[]);
    let tmux = Tmux::start(&home);
    tmux.line("stty -g > before");

    for (number, end) in ["exit 3", "kill -9 $$", "kill -INT $$"].into_iter().enumerate() {
        let script = format!("stty raw -echo; echo ra''w{number}; {end}");
        tmux.line(&format!(
            "secrets run --mask --mask-delay 1h -- bash -c '{}'; echo en''d{number}",
            script.replace('\'', "\"")
        ));
        tmux.wait_for(&format!("raw{number}"));
        // Input that is typed before the end belongs to the command.
        tmux.wait_for(&format!("end{number}"));
        tmux.line(&format!("stty -g > after; cmp before after && echo sa''me{number}"));
        tmux.wait_for(&format!("same{number}"));
    }
}

#[test]
fn ctrl_c_reaches_a_masked_command_once() {
    let (_server, home) = staging(&[]);
    home.write("count.py", super::terminal::COUNTING);
    let tmux = Tmux::start(&home);

    tmux.line("secrets run --mask --mask-delay 1h -- python3 count.py; echo status=$?");
    tmux.wait_for("counting");
    tmux.keys(&["C-c"]);
    tmux.wait_for("interrupt 1");
    tmux.keys(&["C-c"]);
    tmux.wait_for("interrupt 2");
    tmux.keys(&["Enter"]);

    let screen = tmux.wait_for("status=0");
    assert!(screen.contains("total 2"), "{screen}");
    tmux.line("secrets run --mask --mask-delay 1h -- sh -c 'echo wai''ting; exec sleep 1000'; echo next=$?");
    tmux.wait_for("waiting");
    tmux.keys(&["C-c"]);
    tmux.wait_for("next=130");
}

#[test]
fn a_masked_job_is_stopped_listed_and_continued() {
    let (_server, home) = staging(&[("A", "kvc_value_a")]);
    home.write(
        "job.sh",
        "trap 'echo contin''ued' CONT; echo start''ed; read line; echo \"got=$line $A\"",
    );
    let tmux = Tmux::start(&home);
    tmux.line("stty -g > before");

    tmux.line("secrets run --mask --mask-delay 1h -- bash job.sh");
    tmux.wait_for("started");
    tmux.keys(&["C-z"]);
    tmux.wait_for("Stopped");
    tmux.line("stty -g > after; cmp before after && echo sa''me");
    tmux.wait_for("same");
    tmux.line("jobs; echo lis''ted");
    assert!(tmux.wait_for("listed").contains("[1]+  Stopped"));
    tmux.line("fg");
    tmux.wait_for("continued");
    tmux.line("hello");
    tmux.wait_for("got=hello ***");
    tmux.line("jobs; echo no''ne");
    tmux.wait_for("none");
}

#[test]
fn a_masked_job_continues_in_the_background() {
    let (_server, home) = staging(&[]);
    home.write("job.sh", "echo start''ed; until [ -e go ]; do sleep 0.02; done; echo fini''shed");
    let tmux = Tmux::start(&home);

    tmux.line("secrets run --mask --mask-delay 1h -- bash job.sh");
    tmux.wait_for("started");
    tmux.keys(&["C-z"]);
    tmux.wait_for("Stopped");
    tmux.line("bg");
    tmux.line("touch go; echo touch''ed");
    tmux.wait_for("finished");
    tmux.line("wait; echo sta''tus=$?");
    tmux.wait_for("status=0");
}

#[test]
fn a_job_in_the_background_of_a_masked_shell_is_masked() {
    let (_server, home) = staging(&[("A", "kvc_value_a")]);
    // The value is split into two writes.
    let job = "until [ -e go ]; do sleep 0.02; done; printf 'job: kvc_val'; \
               printf 'ue_a %s\\n' \"$A\"; touch done; read line; echo \"got=$line $A\"";
    home.write("job.sh", job);
    let tmux = Tmux::start(&home);
    tmux.line("secrets run --mask --mask-delay 1h -- bash --norc --noprofile -i; echo sta''tus=$?");
    tmux.line("PS1='masked> '; echo she''ll $A");
    tmux.wait_for("shell ***");

    tmux.line("bash job.sh &");
    tmux.line("touch go; until [ -e done ]; do sleep 0.02; done; echo fore''ground");
    tmux.wait_for("job: *** ***");
    tmux.wait_for("foreground");
    // The job reads from the terminal of the shell, which stops the job.
    tmux.line("until jobs | grep Stop''ped; do sleep 0.02; done");
    tmux.wait_for("Stopped");
    tmux.line("fg");
    // The shell has changed the modes of the terminal for the job.
    tmux.wait_for("fg\nbash job.sh");
    tmux.line("hello");
    let screen = tmux.wait_for("got=hello ***");

    assert!(!screen.contains("kvc_val"), "{screen}");
    tmux.line("exit 7");
    tmux.wait_for("status=7");
}

#[test]
fn programs_for_the_whole_screen_work_while_masked() {
    let (_server, home) = staging(&[("A", "kvc_value_a")]);
    home.write("text", &"line with kvc_value_a\n".repeat(100));
    let tmux = Tmux::start(&home);

    tmux.line("secrets run --mask --mask-delay 1h -- vim -u NONE new");
    tmux.wait_for("\n~");
    tmux.keys(&["i"]);
    tmux.keys(&["-l", "typed in vim"]);
    tmux.wait_for("typed in vim");
    tmux.keys(&["Escape"]);
    tmux.wait_until("normal mode", |screen| !screen.contains("INSERT"));
    tmux.keys(&["C-z"]);
    tmux.wait_for("Stopped");
    tmux.line("fg; echo ba''ck");
    tmux.wait_until("vim", |screen| screen.contains("\n~"));
    tmux.line(":wq");
    tmux.wait_for("back");
    tmux.line("cat new; echo vi''m=$?");
    assert!(tmux.wait_for("vim=0").contains("typed in vim"));
    tmux.line("secrets run --mask --mask-delay 1h -- less text; echo le''ss=$?");
    assert!(!tmux.wait_for("line with ***\n").contains("kvc_value_a"));
    tmux.keys(&["q"]);
    tmux.wait_for("less=0");
    tmux.line("secrets run --mask --mask-delay 1h -- python3 -q -i; echo pyt''hon=$?");
    tmux.wait_for(">>>");
    tmux.line("import os; os.environ['A']");
    tmux.wait_for("'***'");
    tmux.keys(&["C-d"]);
    tmux.wait_for("python=0");
}

#[test]
fn a_password_is_read_without_echo_while_masked() {
    let (_server, home) = staging(&[("A", "kvc_value_a")]);
    let tmux = Tmux::start(&home);

    // The prompt is read from the terminal, and the input of the command is a pipe.
    let script = "read -s -p \"Pass\"word: p < /dev/tty; echo; echo len=${#p} $(cat) $A";
    tmux.line(&format!("echo pi''ped | secrets run --mask --mask-delay 1h -- bash -c '{script}'"));
    tmux.wait_for("Password:");
    tmux.line("kvc_typed");

    let screen = tmux.wait_for("len=9 piped ***");
    assert!(!screen.contains("kvc_typed"), "{screen}");
}

#[test]
fn one_stream_may_be_a_terminal_and_the_other_a_file() {
    let (_server, home) = staging(&[("A", "kvc_value_a")]);
    let tmux = Tmux::start(&home);

    let script = "test -t 1 || echo fi''le $A; test -t 2 && echo termi''nal $A >&2";
    tmux.line(&format!(
        "secrets run --mask --mask-delay 1h -- bash -c '{}' > out; cat out",
        script.replace('\'', "\"")
    ));

    tmux.wait_for("terminal ***");
    tmux.wait_for("file ***");
}

#[test]
fn a_masked_group_in_a_terminal_is_killed_before_a_restart() {
    let (_server, home) = staging(&[("A", "kvc_old_value")]);
    let stubborn = "trap '' TERM HUP; echo $$ >> ids; while :; do sleep 0.05; done";
    home.write("stubborn.sh", stubborn);
    home.write("start.sh", "echo \"value $A\"; sh stubborn.sh & exec sh stubborn.sh");
    let (tmux, ids) = (Tmux::start(&home), Log::at(&home, "ids"));
    tmux.line(
        "secrets run --mask --mask-delay 1h --watch --grace 1s -- sh start.sh; echo status=$?",
    );
    let first = ids.wait_until("both processes", |lines| lines.len() == 2);

    home.api("PUT", &format!("{SECRETS}/A"), &json!({ "value": "kvc_new_value" }));
    let second = ids.wait_until("both new processes", |lines| lines.len() == 4);

    for id in first {
        assert!(!std::path::Path::new(&format!("/proc/{id}")).exists(), "{id} is alive");
    }
    let screen =
        tmux.wait_until("the new value", |screen| screen.matches("value ***").count() == 2);
    assert!(!screen.contains("kvc_"), "{screen}");
    for id in &second[2..] {
        home.program("kill", ["-KILL", id]).status().unwrap();
    }
    tmux.wait_for("status=137");
}

#[test]
fn a_masked_command_in_a_terminal_ends_if_its_supervisor_is_killed() {
    let (_server, home) = staging(&[]);
    let script = "trap 'echo ended >> log; exit' HUP TERM; echo $PPID >> log; \
                  while :; do sleep 0.01; done";
    home.write("job.sh", script);
    let (tmux, log) = (Tmux::start(&home), Log::new(&home));
    tmux.line("secrets run --mask --mask-delay 1h -- sh job.sh; stty sane; echo status=$?");
    let lines = log.wait_until("the start", |lines| lines.len() == 1);
    // The parent leads the session, and its parent is the supervisor.
    let leader = std::fs::read_to_string(format!("/proc/{}/stat", lines[0])).unwrap();
    let supervisor = leader.rsplit(')').next().unwrap().split(' ').nth(2).unwrap().to_owned();

    home.program("kill", ["-KILL", &supervisor]).status().unwrap();

    log.wait_until("the end", |lines| lines.len() == 2);
}

#[test]
fn an_unknown_command_in_a_terminal_ends_with_127() {
    let (_server, home) = staging(&[]);
    let tmux = Tmux::start(&home);

    tmux.line("secrets run --mask --mask-delay 1h -- no-such-program; echo status=$?");

    assert!(tmux.wait_for("status=127").contains("secrets: no-such-program: "));
}

#[test]
fn a_masked_command_in_a_terminal_has_no_other_descriptor_and_no_credential() {
    let (server, home) = staging(&[]);
    let tmux = Tmux::start(&home);

    tmux.line("ls /proc/self/fd > before");
    tmux.line(
        "secrets run --mask -- sh -c 'ls /proc/self/fd > after; env > variables'; echo e''nd",
    );
    tmux.wait_for("end");
    tmux.line("cmp before after && echo sa''me");

    tmux.wait_for("same");
    let variables = std::fs::read_to_string(home.path("variables")).unwrap();
    assert!(!variables.contains("SECRETS_TOKEN") && !variables.contains(&server.token));
}
