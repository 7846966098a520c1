# Completion of patchbay and patchbayd for bash. Where an agent is due, the hub is asked for at most 300 ms.
#
# _patchbay_read_line sets for the others: `words`, the line's words up to the cursor; `previous`, the word or option before the
# cursor's value; `head`, what stands before that value in its word (--OPTION=); `value`, what there is of it.

_patchbay_command_options() {
    case $1 in
@COMMAND_OPTIONS@
    esac
}

_patchbay_command_actions() {
    case $1 in
@COMMAND_ACTIONS@
    esac
}

_patchbay_hub_values() {
    case $1 in
@HUB_SETS@
    esac
}

# Joins the words that bash has cut at `:` and `=`, which stand in URIs, in agentIds and in --OPTION=VALUE.
_patchbay_read_line() {
    local rest=${COMP_LINE-} at part blanks
    words=()
    for ((at = 0; at <= COMP_CWORD; at++)); do
        part=${COMP_WORDS[at]}
        blanks=${rest%%[![:blank:]]*}
        rest=${rest#"$blanks"}
        if ((at == 0)) || [ -n "$blanks" ] || [ -z "${COMP_LINE-}" ]; then
            words+=("$part")
        else
            words[${#words[@]} - 1]+=$part
        fi
        rest=${rest#"$part"}
    done
    value=${words[${#words[@]} - 1]} previous='' head=''
    [ ${#words[@]} -lt 2 ] || previous=${words[${#words[@]} - 2]}
    if [[ $value == --*=* ]]; then
        previous=${value%%=*} head=${value%%=*}= value=${value#*=}
    fi
}

# Offers those of the choices that begin as the value does. Bash puts them behind the last `:` or `=` at which it has cut.
_patchbay_offer() {
    local choice cuts=${COMP_WORDBREAKS-} before=''
    cuts=${cuts//[^:=]/}
    [ -z "$cuts" ] || before=${head}${value} before=${before%"${before##*["$cuts"]}"}
    for choice; do
        [[ $choice != "$value"* ]] || choice=$head$choice COMPREPLY+=("${choice#"$before"}")
    done
}

_patchbay_offer_files() {
    local files
    mapfile -t files < <(compgen -f -- "$value")
    compopt -o filenames 2>/dev/null
    _patchbay_offer "${files[@]}"
}

# Offers the agentIds at the hub that the line, or PATCHBAY_HUB, names. A hub that doesn't answer in time has none. Whatever is
# no agentId is left out: bash would run what a hub at that address puts between its quotes.
_patchbay_offer_agents() {
    local agents
    mapfile -t agents < <(timeout 0.3 patchbay "${hub[@]}" agents --json 2>/dev/null </dev/null |
        grep -o '"agentId":"[A-Za-z0-9_.:/-]*"' 2>/dev/null | cut -d '"' -f 4)
    _patchbay_offer "${agents[@]}"
}

_patchbay() {
    local words value previous head hub=() command='' at arguments=0
    COMPREPLY=()
    _patchbay_read_line
    for ((at = 1; at < ${#words[@]} - 1; at++)); do
        case ${words[at]} in
        --hub | --token-file | --tls-ca | --tls-certificate | --tls-key | --framing)
            [ -n "$command" ] || { hub+=("${words[at]}" "${words[at + 1]/#\~\//$HOME/}") && ((at++)); }
            ;;
        --*=*) [ -n "$command" ] || hub+=("${words[at]}") ;;
        -*) ;;
        *)
            if [ -z "$command" ]; then command=${words[at]}; else ((arguments++)); fi
            ;;
        esac
    done
    case $previous in
    --token-file | --tls-ca | --tls-certificate | --tls-key | --users) _patchbay_offer_files && return ;;
    --framing) _patchbay_offer content-length lines && return ;;
    --priority) _patchbay_offer low medium high critical && return ;;
    --sort) _patchbay_offer owes name level connected && return ;;
    --agent | --target) _patchbay_offer_agents && return ;;
    --hub) return ;;
    esac
    local options actions
    read -ra options <<<"$(_patchbay_command_options "$command")"
    read -ra actions <<<"$(_patchbay_command_actions "$command")"
    if [ -z "$command" ]; then
        _patchbay_offer @COMMANDS@ @FLAGS@
    elif [[ $value == -* ]]; then
        _patchbay_offer "${options[@]}"
    elif [ "$arguments" -eq 0 ] && [ ${#actions[@]} -gt 0 ]; then
        _patchbay_offer "${actions[@]}"
    else
        case $command:$arguments in
        send:0 | pending:0) _patchbay_offer_agents ;;
        record:0 | replay:0 | users:1) _patchbay_offer_files ;;
        esac
    fi
}

_patchbayd() {
    local words value previous head values
    COMPREPLY=()
    _patchbay_read_line
    read -ra values <<<"$(_patchbay_hub_values "$previous")"
    case $previous in
    @HUB_FILES@) _patchbay_offer_files && return ;;
    esac
    if [ ${#values[@]} -gt 0 ]; then
        _patchbay_offer "${values[@]}"
    elif [ -z "$head" ]; then
        _patchbay_offer @HUB_OPTIONS@
    fi
}

complete -F _patchbay patchbay
complete -F _patchbayd patchbayd
