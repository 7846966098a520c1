# Completion of patchbay and patchbayd for fish. Where an agent is due, the hub is asked for at most 300 ms.

function __patchbay_no_command
    test (count (string match -v -- '-*' (commandline -opc))) -eq 1
end

function __patchbay_agents
    timeout 0.3 patchbay agents --json 2>/dev/null </dev/null | string match -ar '"agentId":"([^"]*)"' | string match -v '"*'
end

complete -c patchbay -f
@COMMANDS@
@FLAGS@
complete -c patchbay -n '__fish_seen_subcommand_from send' -a '(__patchbay_agents)'
@COMMAND_OPTIONS@
complete -c patchbayd -f
@HUB_OPTIONS@
complete -c patchbayd -l help -d 'prints the options'
complete -c patchbayd -l version -d 'prints the version'
